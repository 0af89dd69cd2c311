package wrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/spend"
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

func TestCacheSharesOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{before: time.Second, chunks: append([]runtime.Chunk{{Text: "a"}, {Text: "b"}, used(7, 2)}, say("c")...)})
		run := spend.NewBudget("run", spend.Limits{})
		m := wrap.Cache(wrap.Metered(inner, "m", nil), nil)
		answers := make([]answer, 5)
		var wg sync.WaitGroup
		leader, leave := context.WithCancel(runtime.WithBudgets(t.Context(), run))
		wg.Go(func() { answers[0] = ask(leader, m, "x") })
		synctest.Wait()
		for i := range 3 {
			wg.Go(func() { answers[i+1] = ask(t.Context(), m, "x") })
		}
		time.Sleep(1500 * time.Millisecond) // virtual; a piece has come
		leave()
		wg.Go(func() { answers[4] = ask(t.Context(), m, "x") })
		wg.Wait()
		if !errors.Is(answers[0].err, context.Canceled) || answers[0].text != "a" {
			t.Errorf("who left got %q, %v", answers[0].text, answers[0].err)
		}
		for i, a := range answers[1:] {
			if a.text != "abc" || a.err != nil || a.usage != (runtime.Usage{}) {
				t.Errorf("follower %d got %q, %+v, %v", i, a.text, a.usage, a.err)
			}
		}
		if want := (spend.Amount{Calls: 1, Tokens: 9}); inner.calls != 1 || run.Spent() != want {
			t.Errorf("%d calls, spent %+v", inner.calls, run.Spent())
		}
	})
}

func TestCacheStopsACallThatNobodyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{chunks: []runtime.Chunk{{Text: "a"}}, hang: true}, act{chunks: say("b")})
		m := wrap.Cache(inner, nil)
		for range m.Generate(t.Context(), &runtime.Request{}) {
			break
		}
		if inner.ended != 1 {
			t.Error("the call still runs")
		}
		if got := send(t.Context(), m, &runtime.Request{}); got.text != "b" {
			t.Errorf("the next got %q, %v", got.text, got.err)
		}
	})
}

// A budget that is spent is one caller's; another's must not suffer for it.
func TestCacheDoesNotShareBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{before: time.Second, chunks: say("a")})
		inside := wrap.Metered(inner, "m", nil)
		m := wrap.Cache(runtime.ModelFunc(func(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
			pause(ctx, time.Second) // so that the second finds the first's call
			return inside.Generate(ctx, req)
		}), nil)
		poor := runtime.WithBudgets(t.Context(), spend.NewBudget("poor", spend.Limits{Calls: -1}))
		var first, second answer
		var wg sync.WaitGroup
		wg.Go(func() { first = ask(poor, m, "x") })
		synctest.Wait()
		wg.Go(func() { second = ask(t.Context(), m, "x") })
		wg.Wait()
		if _, ok := errors.AsType[*spend.BudgetError](first.err); !ok {
			t.Errorf("who has nothing left got %v", first.err)
		}
		if second.text != "a" || second.err != nil {
			t.Errorf("who has got %q, %v", second.text, second.err)
		}
	})
}

func TestCacheBoundsAnAnswer(t *testing.T) {
	m := wrap.Cache(play(act{chunks: say("abc")}), &wrap.CacheOptions{MaxAnswer: 66})
	if got := ask(t.Context(), m, "x"); !errors.Is(got.err, wrap.ErrAnswerSize) {
		t.Errorf("got %v", got.err)
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

// Whoever comes while a call is being stopped gets one of its own.
func TestCacheJoinsNoCallThatIsBeingStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		m := wrap.Cache(runtime.ModelFunc(func(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
			calls++
			first := calls == 1
			return func(yield func(runtime.Chunk, error) bool) {
				if first {
					<-ctx.Done()
					time.Sleep(time.Second) // it takes a while to stop
					yield(runtime.Chunk{}, ctx.Err())
					return
				}
				_ = yield(runtime.Chunk{Text: "b"}, nil) && yield(runtime.Chunk{Finish: "stop"}, nil)
			}
		}), nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan answer, 1)
		go func() { done <- ask(ctx, m, "x") }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if got := ask(t.Context(), m, "x"); got.text != "b" || got.err != nil {
			t.Errorf("who came then got %q, %v", got.text, got.err)
		}
		if got := <-done; !errors.Is(got.err, context.Canceled) {
			t.Errorf("who left got %v", got.err)
		}
	})
}

// A call goes on for those who follow it when the first has left: with the
// request as it was, whatever the first does with its own.
func TestCacheKeepsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wrap.Cache(runtime.ModelFunc(func(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
			return func(yield func(runtime.Chunk, error) bool) {
				pause(ctx, time.Minute)
				_ = yield(runtime.Chunk{Text: req.Messages[0].Text + req.Messages[0].Calls[0].Name + string(req.Tools[0].Input)}, nil) && yield(runtime.Chunk{Finish: "stop"}, nil)
			}
		}), nil)
		request := func() *runtime.Request {
			return &runtime.Request{
				Messages: []runtime.Message{{Role: runtime.RoleAssistant, Text: "x", Calls: []runtime.ToolCall{{Name: "y"}}}},
				Tools:    []runtime.Tool{{Name: "t", Input: []byte("{}")}},
			}
		}
		own := request()
		ctx, leave := context.WithCancel(t.Context())
		gone, done := make(chan struct{}), make(chan answer, 1)
		go func() { send(ctx, m, own); close(gone) }()
		synctest.Wait()
		go func() { done <- send(t.Context(), m, request()) }()
		synctest.Wait()
		leave()
		<-gone
		own.Messages[0].Text, own.Messages[0].Calls[0].Name = "another's", "z"
		copy(own.Tools[0].Input, "[]")
		if got := <-done; got.text != "xy{}" || got.err != nil {
			t.Errorf("who followed got %q, %v", got.text, got.err)
		}
	})
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
	if got := ask(t.Context(), m, "x"); got.chunks[0].Call.Arguments != "a" || got.chunks[1].Call.Arguments != "b" {
		t.Errorf("kept are %+v and %+v", *got.chunks[0].Call, *got.chunks[1].Call)
	}
}
