package runtime_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
)

// starter gives the agent an operation that says which others it starts, and
// notes what it is asked beforehand.
func (f *fixture) starter(t *testing.T, needed func()) (foreseen *atomic.Int64) {
	t.Helper()
	foreseen = new(atomic.Int64)
	op := tools.New("map:start", "Start others.",
		func(in keyInput) []caps.Request {
			needed()
			return []caps.Request{caps.Need("crud/read", in.Key)}
		},
		func(context.Context, tools.Call, keyInput) (bool, error) { return true, nil },
		tools.Within(caps.ScopeUnder("crud/read", "", 0, 0)),
		tools.WithStarts(func(json.RawMessage) []tools.Invocation {
			foreseen.Add(1)
			return []tools.Invocation{{Operation: "map:read", Input: json.RawMessage(`{"key":"w/a"}`)}}
		}))
	if err := f.ops.Register(op); err != nil {
		t.Fatal(err)
	}
	f.agent.Tools = append(f.agent.Tools, op)
	return foreseen
}

// manyCalls is an answer of n calls.
func manyCalls(n int, tool, arguments string) (answer []runtime.Chunk) {
	for range n {
		answer = slices.Concat(answer, calls(tool, arguments))
	}
	for i := range answer {
		answer[i].Call.Index = i
	}
	return answer
}

// What a call would start is not foreseen where the call is refused.
func TestNothingIsForeseenOfADeniedCall(t *testing.T) {
	f := newFixture(t, reader(), manyCalls(3, "map_start", `{"key":"s/a"}`), text("Done."))
	foreseen := f.starter(t, func() {})
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go"); err != nil {
		t.Fatal(err)
	}
	if n := foreseen.Load(); n != 0 {
		t.Errorf("what denied calls would start was asked for %d times", n)
	}
}

// The calls of one answer are grouped no further once the turn is stopped.
func TestGroupingEndsWithItsContext(t *testing.T) {
	f := newFixture(t, reader(), manyCalls(500, "map_start", `{"key":"w/a"}`), text("Done."))
	ctx, stop := context.WithCancel(t.Context())
	asked := 0
	f.starter(t, func() {
		if asked++; asked == 5 {
			stop()
		}
	})
	for range f.runner(runtime.Options{}).Turn(ctx, f.agent, runtime.NewSession("s", nil), runtime.Say{Text: "go"}) {
	}
	if asked < 5 || asked > 10 {
		t.Errorf("needs were asked for %d times of 500 calls, after the turn was stopped at the fifth", asked)
	}
}
