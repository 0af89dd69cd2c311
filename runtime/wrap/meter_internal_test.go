package wrap

import (
	"context"
	"errors"
	"testing"

	"usher/runtime"
	"usher/tools/spend"
)

// What a call has used, from what is known of it.
func TestAccountUsage(t *testing.T) {
	type piece struct {
		chunk runtime.Chunk
		err   error
	}
	reported := func(u runtime.Usage) piece { return piece{chunk: runtime.Chunk{Usage: &u}} }
	cut := piece{err: errors.New("cut")}
	for _, tc := range []struct {
		name    string
		pieces  []piece
		left    bool // the consumer left
		stopped bool // the context ended
		want    runtime.Usage
	}{
		{"refused", []piece{cut}, false, false, runtime.Usage{}},
		{"stopped before it began", []piece{cut}, false, true, runtime.Usage{Input: 100, Cost: 100}},
		{"worked on and failed", []piece{reported(runtime.Usage{Input: 7, Cost: 7}), cut}, false, false, runtime.Usage{Input: 7, Cost: 7}},
		{
			"stopped, and ended quietly",
			[]piece{reported(runtime.Usage{Input: 7, Output: 1}), {chunk: runtime.Chunk{Text: "12345678"}}},
			false, true,
			runtime.Usage{Input: 7, Output: 2, Cost: 27},
		},
		{
			"stopped when it was finished",
			[]piece{{chunk: runtime.Chunk{Text: "12345678"}}, {chunk: runtime.Chunk{Finish: "stop", Usage: &runtime.Usage{Input: 7, Output: 1, Cost: 17}}}},
			true, true,
			runtime.Usage{Input: 7, Output: 1, Cost: 17},
		},
		{
			"all that comes is estimated",
			[]piece{{chunk: runtime.Chunk{Text: "1234", Reasoning: "1234", Call: &runtime.CallDelta{ID: "1234", Name: "1234", Arguments: "1234"}}}},
			false, false,
			runtime.Usage{Input: 100, Output: 5, Cost: 150},
		},
		{
			"what was said to cost more is not lowered",
			[]piece{reported(runtime.Usage{Input: 7, Output: 1, Cost: 1000}), {chunk: runtime.Chunk{Text: "12345678"}}},
			true, false,
			runtime.Usage{Input: 7, Output: 2, Cost: 1000},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.stopped {
				cancel()
			}
			a := account{input: 100, left: tc.left, yield: func(runtime.Chunk, error) bool { return true }}
			for _, p := range tc.pieces {
				a.pass(p.chunk, p.err)
			}
			if got := a.usage(ctx, &spend.Price{Input: 1_000_000, Output: 10_000_000}); got != tc.want {
				t.Errorf("usage = %+v, want %+v", got, tc.want)
			}
		})
	}
}

// Of a model that goes on though it was told to stop nothing more is passed on, or counted.
func TestNothingIsCountedAfterTheEnd(t *testing.T) {
	for name, stop := range map[string]error{"the consumer left": nil, "the model failed": errors.New("gone")} {
		t.Run(name, func(t *testing.T) {
			passed := 0
			a := account{yield: func(runtime.Chunk, error) bool { passed++; return stop != nil }}
			for range 2 {
				if a.pass(runtime.Chunk{Text: "four"}, stop) {
					t.Error("it is to go on")
				}
			}
			if passed != 1 || a.output != 4 {
				t.Errorf("%d pieces and %d bytes passed, want 1 and 4", passed, a.output)
			}
		})
	}
}
