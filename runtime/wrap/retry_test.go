package wrap_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/spend"
)

func middle() float64 { return 0.5 }

func TestRetry(t *testing.T) {
	busy := outage{text: "busy", temporary: true}
	for _, tc := range []struct {
		name  string
		acts  []act
		opts  wrap.RetryOptions
		calls int
		took  time.Duration
		text  string
		usage runtime.Usage
		err   string
	}{
		{name: "first try", acts: []act{{chunks: say("hi")}}, calls: 1, text: "hi"},
		{name: "backoff doubles", acts: []act{{err: busy}, {err: busy}, {chunks: say("hi")}}, calls: 3, took: 1500 * time.Millisecond, text: "hi"},
		{name: "backoff has a top", acts: []act{{err: busy}, {err: busy}, {err: busy}, {chunks: say("hi")}}, opts: wrap.RetryOptions{First: 4 * time.Second, Max: 5 * time.Second}, calls: 4, took: 14 * time.Second, text: "hi"},
		{name: "tries are bounded", acts: []act{{err: busy}}, calls: 4, took: 3500 * time.Millisecond, err: "after 4 tries: busy"},
		{name: "one try", acts: []act{{err: busy}}, opts: wrap.RetryOptions{Tries: 1}, calls: 1, err: "busy"},
		{name: "retry-after wins", acts: []act{{err: outage{text: "slow down", temporary: true, after: 7 * time.Second}}, {chunks: say("hi")}}, calls: 2, took: 7 * time.Second, text: "hi"},
		{name: "retry-after too long", acts: []act{{err: outage{text: "come tomorrow", temporary: true, after: 24 * time.Hour}}}, calls: 1, err: "come tomorrow"},
		{name: "said not to be temporary", acts: []act{{err: outage{text: "bad request", after: time.Second}}}, calls: 1, err: "bad request"},
		{name: "says nothing", acts: []act{{err: errPlain}}, calls: 1, err: "no such model"},
		{name: "never fits the window", acts: []act{{err: errOverlong}}, calls: 1, err: "too long: the conversation does not fit the model's window"},
		{name: "cut after text", acts: []act{{chunks: []runtime.Chunk{{Text: "half"}}, err: busy}}, calls: 1, text: "half", err: "busy"},
		{name: "cut after reasoning", acts: []act{{chunks: []runtime.Chunk{{Reasoning: "hm"}}, err: busy}}, calls: 1, err: "busy"},
		{name: "cut after a piece of a call", acts: []act{{chunks: []runtime.Chunk{{Call: &runtime.CallDelta{}}}, err: busy}}, calls: 1, err: "busy"},
		{name: "cut after finish", acts: []act{{chunks: []runtime.Chunk{{Finish: "stop"}}, err: busy}}, calls: 1, err: "busy"},
		{
			name: "cut after usage alone, and its tokens count", acts: []act{{chunks: []runtime.Chunk{used(5, 0), {Usage: &runtime.Usage{Input: 5, Output: 1, CacheRead: 4, Cost: 2}}, {}}, err: busy}, {chunks: append(say("hi"), runtime.Chunk{Usage: &runtime.Usage{Input: 5, Output: 2, CacheRead: 4, CacheWrite: 1, Cost: 40}})}},
			calls: 2, took: 500 * time.Millisecond, text: "hi", usage: runtime.Usage{Input: 10, Output: 3, CacheRead: 8, CacheWrite: 1, Cost: 42},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := play(tc.acts...)
				tc.opts.Rand = middle
				start := time.Now()
				got := ask(t.Context(), wrap.Retry(inner, &tc.opts), "x")
				if took := time.Since(start); took != tc.took || inner.calls != tc.calls {
					t.Errorf("%d calls in %s, want %d in %s", inner.calls, took, tc.calls, tc.took)
				}
				if got.text != tc.text || got.usage != tc.usage || message(got.err) != tc.err {
					t.Errorf("got %q, %+v, %v; want %q, %+v, %q", got.text, got.usage, got.err, tc.text, tc.usage, tc.err)
				}
			})
		})
	}
}

// errOverlong says that it could be tried again, and is wrong.
var errOverlong = fmt.Errorf("%w: %w", outage{text: "too long", temporary: true}, runtime.ErrWindow)

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestRetryEndsWithItsContext(t *testing.T) {
	busy := outage{text: "busy", temporary: true, after: 10 * time.Second}
	for _, tc := range []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		took time.Duration
		is   error
	}{
		{"the deadline is before the next try", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 5*time.Second)
		}, 0, busy},
		{"cancelled while it waits", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(3*time.Second, cancel)
			return ctx, cancel
		}, 3 * time.Second, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tc.ctx(t.Context())
				defer cancel()
				inner, start := play(act{err: busy}), time.Now()
				got := ask(ctx, wrap.Retry(inner, nil), "x")
				if !errors.Is(got.err, tc.is) || !errors.Is(got.err, busy) || inner.calls != 1 || time.Since(start) != tc.took {
					t.Errorf("%v after %d calls in %s", got.err, inner.calls, time.Since(start))
				}
			})
		})
	}
}

func TestRetryStopsWithItsConsumer(t *testing.T) {
	inner := play(act{chunks: []runtime.Chunk{used(1, 0)}, err: outage{temporary: true}})
	for range wrap.Retry(inner, nil).Generate(t.Context(), &runtime.Request{}) {
		break
	}
	if inner.calls != 1 || inner.ended != 1 {
		t.Errorf("%d calls, %d ended; want 1 and 1", inner.calls, inner.ended)
	}
}

func TestFallback(t *testing.T) {
	spent := spend.NewBudget("b", spend.Limits{Calls: -1})
	for _, tc := range []struct {
		name   string
		models []runtime.Model
		text   string
		err    string
	}{
		{name: "none", err: "fallback: there are no models to ask: give at least one"},
		{name: "the first answers", models: []runtime.Model{play(act{chunks: say("a")}), play(act{err: errPlain})}, text: "a"},
		{name: "the second answers", models: []runtime.Model{play(act{err: errPlain}), play(act{chunks: say("b")})}, text: "b"},
		{name: "one with a larger window answers", models: []runtime.Model{play(act{err: errOverlong}), play(act{chunks: say("b")})}, text: "b"},
		{name: "cut in the middle", models: []runtime.Model{play(act{chunks: []runtime.Chunk{{Text: "a"}}, err: errPlain}), play(act{chunks: say("b")})}, text: "a", err: "no such model"},
		{name: "all fail", models: []runtime.Model{play(act{err: errPlain}), wrap.Meter(play(act{err: outage{text: "busy"}}), "spare", nil)}, err: "2 of 2 models failed; a model without a name: no such model; spare: busy"},
		{name: "a spent budget is final", models: []runtime.Model{charged(play(act{}), nil, spent), play(act{chunks: say("b")})}, err: `budget "b" is spent: 0 of 0 calls` + more},
		{name: "a spent budget is final later too", models: []runtime.Model{play(act{err: errPlain}), charged(play(act{}), nil, spent), play(act{chunks: say("c")})}, err: "2 of 3 models failed; a model without a name: no such model; a model without a name: budget \"b\" is spent: 0 of 0 calls" + more},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ask(t.Context(), wrap.Fallback(tc.models...), "x")
			if got.text != tc.text || message(got.err) != tc.err {
				t.Errorf("got %q, %v; want %q, %q", got.text, got.err, tc.text, tc.err)
			}
		})
	}
}

func TestFallbackEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	second := play(act{chunks: say("b")})
	got := ask(ctx, wrap.Fallback(play(act{chunks: say("a")}), second), "x")
	if !errors.Is(got.err, context.Canceled) || second.calls != 0 {
		t.Errorf("%v, second asked %d times", got.err, second.calls)
	}
}

// The failure before it was temporary; the budget that ended the search is not.
func TestRetryDoesNotGoRoundABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := play(act{err: outage{text: "busy", temporary: true}})
		spent := charged(play(act{}), nil, spend.NewBudget("b", spend.Limits{Calls: -1}))
		got := ask(t.Context(), wrap.Retry(wrap.Fallback(busy, spent), nil), "x")
		if _, ok := errors.AsType[*spend.BudgetError](got.err); !ok || busy.calls != 1 {
			t.Errorf("%v after %d calls, want a BudgetError after 1", got.err, busy.calls)
		}
	})
}

// No wait of its own choosing is longer than the longest, however it is spread.
func TestRetryWaitsNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wrap.Retry(play(act{err: outage{text: "busy", temporary: true}}), &wrap.RetryOptions{
			Tries: 4, First: time.Second, Max: 3 * time.Second, Rand: func() float64 { return 0.9 },
		})
		began := time.Now()
		ask(t.Context(), m, "x")
		if got, want := time.Since(began), 1400*time.Millisecond+2800*time.Millisecond+3*time.Second; got != want {
			t.Errorf("waited %s, want %s", got, want)
		}
	})
}
