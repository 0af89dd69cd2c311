package wrap_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
)

func TestCacheKeepsCompleteAnswers(t *testing.T) {
	for _, tc := range []struct {
		name  string
		act   act
		calls int // for two requests
	}{
		{"complete", act{chunks: say("a")}, 1},
		{"failed", act{err: errPlain}, 2},
		{"cut", act{chunks: say("a"), err: errPlain}, 2},
		{"no reason to finish", act{chunks: []runtime.Chunk{{Text: "a"}}}, 2},
		{"grew too long", act{chunks: []runtime.Chunk{{Text: "a"}, {Finish: "length"}}}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inner := play(tc.act)
			m := wrap.Cache(inner, nil)
			first, second := ask(t.Context(), m, "x"), ask(t.Context(), m, "x")
			if inner.calls != tc.calls {
				t.Errorf("%d calls, want %d", inner.calls, tc.calls)
			}
			if diff := cmp.Diff(first.chunks, second.chunks); diff != "" || message(first.err) != message(second.err) {
				t.Errorf("answers differ (-first +second):\n%s%v, %v", diff, first.err, second.err)
			}
		})
	}
}

func TestCacheKey(t *testing.T) {
	base := func() *runtime.Request {
		return &runtime.Request{
			System: "s", Messages: []runtime.Message{{Role: "user", Text: "ab"}, {Role: "assistant", Calls: []runtime.ToolCall{{ID: "1", Name: "t", Arguments: "{}"}}}},
			Tools: []runtime.Tool{{Name: "t", Description: "d", Input: json.RawMessage(`{"a":1,"b":2}`)}}, Output: json.RawMessage(`{}`),
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*runtime.Request)
		hit    bool
	}{
		{"the same", func(*runtime.Request) {}, true},
		{"schema spelled otherwise", func(r *runtime.Request) { r.Tools[0].Input = json.RawMessage(`{ "b": 2, "a": 1 }`) }, true},
		{"system", func(r *runtime.Request) { r.System = "t" }, false},
		{"text", func(r *runtime.Request) { r.Messages[0].Text = "ac" }, false},
		{"text moved over a border", func(r *runtime.Request) { r.Messages[0].Role, r.Messages[0].Text = "usera", "b" }, false},
		{"invalid UTF-8", func(r *runtime.Request) { r.System = "s\xff" }, false},
		{"other invalid UTF-8", func(r *runtime.Request) { r.System = "s\xfe" }, false},
		{"a call that failed", func(r *runtime.Request) { r.Messages[0].Failed = true }, false},
		{"reasoning", func(r *runtime.Request) { r.Messages[1].Reasoning = "hm" }, false},
		{"a number that is nearly the same", func(r *runtime.Request) { r.Output = json.RawMessage(`{"maximum":9007199254740993}`) }, false},
		{"arguments", func(r *runtime.Request) { r.Messages[1].Calls[0].Arguments = "{ }" }, false},
		{"no tools", func(r *runtime.Request) { r.Tools = nil }, false},
		{"schema", func(r *runtime.Request) { r.Tools[0].Input = json.RawMessage(`{"a":1,"b":3}`) }, false},
		{"no output schema", func(r *runtime.Request) { r.Output = nil }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inner := play(act{chunks: say("a")})
			m := wrap.Cache(inner, nil)
			first := base()
			if tc.name == "a number that is nearly the same" {
				first.Output = json.RawMessage(`{"maximum":9007199254740992}`)
			}
			send(t.Context(), m, first)
			changed := base()
			tc.change(changed)
			send(t.Context(), m, changed)
			if hit := inner.calls == 1; hit != tc.hit {
				t.Errorf("hit = %t, want %t", hit, tc.hit)
			}
		})
	}
}

func TestCacheForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{chunks: say("a")})
		m := wrap.Cache(inner, &wrap.CacheOptions{MaxEntries: 2, TTL: time.Minute})
		for i, step := range []struct {
			ask   string
			wait  time.Duration
			calls int
		}{
			{"a", 0, 1}, {"b", 0, 2}, {"a", 0, 2}, {"c", 0, 3}, {"a", 0, 3}, {"b", 0, 4}, // b was unused the longest
			{"b", time.Minute, 5},
		} {
			time.Sleep(step.wait) // virtual
			if ask(t.Context(), m, step.ask); inner.calls != step.calls {
				t.Errorf("step %d: %d calls, want %d", i, inner.calls, step.calls)
			}
		}
	})
}

// What is very long is passed on, and not kept.
func TestCacheBoundsAnAnswer(t *testing.T) {
	long := strings.Repeat("x", 1<<20+1)
	inner := play(act{chunks: say(long)})
	m := wrap.Cache(inner, nil)
	for range 2 {
		if got := ask(t.Context(), m, "x"); got.text != long || got.err != nil {
			t.Errorf("got %d bytes, %v", len(got.text), got.err)
		}
	}
	if inner.calls != 2 {
		t.Errorf("%d calls, want 2", inner.calls)
	}
}

// Who leaves before the end has nothing kept.
func TestCacheKeepsNothingThatWasLeft(t *testing.T) {
	inner := play(act{chunks: say("a")})
	m := wrap.Cache(inner, nil)
	for range m.Generate(t.Context(), &runtime.Request{}) {
		break
	}
	if got := send(t.Context(), m, &runtime.Request{}); got.text != "a" || inner.calls != 2 || inner.ended != 2 {
		t.Errorf("the next got %q after %d calls, %d of them ended", got.text, inner.calls, inner.ended)
	}
}

// What one consumer does to its pieces is not seen by another.
func TestCacheGivesCopies(t *testing.T) {
	m := wrap.Cache(play(act{chunks: append([]runtime.Chunk{{Call: &runtime.CallDelta{Name: "read"}}}, say("")...)}), nil)
	for range 2 {
		got := ask(t.Context(), m, "x")
		if got.chunks[0].Call.Name != "read" {
			t.Fatalf("got a call of %s", got.chunks[0].Call.Name)
		}
		got.chunks[0].Call.Name = "delete"
	}
}

// A model may use one piece for all that it says.
func TestCacheKeepsThePieces(t *testing.T) {
	m := wrap.Cache(runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return func(yield func(runtime.Chunk, error) bool) {
			call := runtime.CallDelta{}
			for _, part := range []string{"a", "b"} {
				call.Arguments = part
				if !yield(runtime.Chunk{Call: &call}, nil) {
					return
				}
			}
			yield(runtime.Chunk{Finish: "stop"}, nil)
		}
	}), nil)
	ask(t.Context(), m, "x")
	if got := ask(t.Context(), m, "x"); got.chunks[0].Call.Arguments != "ab" {
		t.Errorf("kept is %+v", *got.chunks[0].Call)
	}
}
