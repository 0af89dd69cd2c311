package wrap_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/fault"
)

func TestLimitRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{chunks: say("a")})
		m := wrap.Limit(inner, wrap.LimitOptions{PerMinute: 60, Burst: 2})
		start := time.Now()
		for range 4 {
			if got := ask(t.Context(), m, "x"); got.err != nil {
				t.Fatal(got.err)
			}
		}
		var at []time.Duration
		for _, b := range inner.began {
			at = append(at, b.Sub(start))
		}
		if diff := cmp.Diff([]time.Duration{0, 0, time.Second, 2 * time.Second}, at); diff != "" {
			t.Errorf("calls began (-want +got):\n%s", diff)
		}
	})
}

func TestLimitRefusesWhatWouldWaitTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{chunks: say("a")})
		m := wrap.Limit(inner, wrap.LimitOptions{PerMinute: 2})
		ask(t.Context(), m, "x")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		got := ask(ctx, m, "x")
		want := "rate limit: 2 calls a minute: the call would wait 30s, longer than its deadline allows"
		if message(got.err) != want || time.Since(start) != 0 || inner.calls != 1 {
			t.Errorf("%v after %s and %d calls; want %q at once", got.err, time.Since(start), inner.calls, want)
		}
		time.Sleep(30 * time.Second) // virtual: the refused call must not have used the turn
		if got := ask(ctx, m, "x"); !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("after the deadline: %v", got.err)
		}
		start = time.Now()
		if got := ask(t.Context(), m, "x"); got.err != nil || time.Since(start) != 0 {
			t.Errorf("%v after %s", got.err, time.Since(start))
		}
	})
}

func TestLimitConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{before: time.Second, chunks: say("a")})
		m := wrap.Limit(inner, wrap.LimitOptions{Concurrent: 2})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { ask(t.Context(), m, "x") })
		}
		synctest.Wait()
		if inner.count() != 2 {
			t.Errorf("%d calls at once, want 2", inner.count())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got := ask(ctx, m, "x")
		if fault.Of(got.err) != fault.RateLimited || !strings.HasPrefix(message(got.err), "rate limit: 2 calls at once: ") || !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("got %v (%s), want an error that names the limit", got.err, fault.Of(got.err))
		}
		wg.Wait()
		for range m.Generate(t.Context(), &runtime.Request{}) {
			break // a consumer that leaves gives its place back
		}
		if got := ask(t.Context(), m, "x"); got.err != nil || inner.calls != 6 {
			t.Errorf("%v after %d calls", got.err, inner.calls)
		}
	})
}

func TestTimeout(t *testing.T) {
	const second = time.Second
	for _, tc := range []struct {
		name string
		act  act
		opts wrap.TimeoutOptions
		took time.Duration
		text string
		err  string
	}{
		{name: "in time", act: act{before: second, chunks: say("a")}, opts: wrap.TimeoutOptions{FirstChunk: 2 * second, Between: 2 * second, Total: 4 * second}, took: 3 * second, text: "a"},
		{name: "no bounds", act: act{before: time.Hour, chunks: say("a")}, took: 3 * time.Hour, text: "a"},
		{name: "first chunk", act: act{hang: true}, opts: wrap.TimeoutOptions{FirstChunk: second, Between: time.Minute}, took: second, err: "the model did not begin to answer within 1s"},
		{name: "first chunk, model ends quietly", act: act{hang: true, quiet: true}, opts: wrap.TimeoutOptions{FirstChunk: second}, took: second, err: "the model did not begin to answer within 1s"},
		{name: "between", act: act{chunks: []runtime.Chunk{{Text: "a"}}, hang: true}, opts: wrap.TimeoutOptions{FirstChunk: time.Minute, Between: second}, took: second, text: "a", err: "the model fell silent for 1s in the middle of its answer"},
		{name: "between starts anew", act: act{before: second, chunks: []runtime.Chunk{{Text: "a"}, {Text: "b"}, {Text: "c"}}}, opts: wrap.TimeoutOptions{Between: 1500 * time.Millisecond}, took: 4 * second, text: "abc"},
		{name: "total", act: act{before: second, chunks: []runtime.Chunk{{Text: "a"}, {Text: "b"}, {Text: "c"}}}, opts: wrap.TimeoutOptions{Between: 2 * second, Total: 2500 * time.Millisecond}, took: 2500 * time.Millisecond, text: "ab", err: "the model did not complete its answer within 2.5s"},
		{name: "the model's own error", act: act{err: errPlain}, opts: wrap.TimeoutOptions{FirstChunk: second}, err: "no such model"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				got := ask(t.Context(), wrap.Timeout(play(tc.act), tc.opts), "x")
				if got.text != tc.text || message(got.err) != tc.err || time.Since(start) != tc.took {
					t.Errorf("got %q, %v in %s; want %q, %q in %s", got.text, got.err, time.Since(start), tc.text, tc.err, tc.took)
				}
			})
		})
	}
}

func TestTimeoutLeavesOtherEndsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got := ask(ctx, wrap.Timeout(play(act{hang: true}), wrap.TimeoutOptions{FirstChunk: time.Minute, Total: time.Hour}), "x")
		if !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the caller's own deadline", got.err)
		}
		// A slow consumer is not a silent model.
		m := wrap.Timeout(play(act{chunks: say("a")}), wrap.TimeoutOptions{Between: time.Second})
		for _, err := range m.Generate(t.Context(), &runtime.Request{}) {
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute) // virtual
		}
	})
}

func TestTimeoutIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{hang: true}, act{chunks: say("a")})
		got := ask(t.Context(), wrap.Retry(wrap.Timeout(inner, wrap.TimeoutOptions{FirstChunk: time.Second}), nil), "x")
		if got.text != "a" || got.err != nil || inner.ended != 2 {
			t.Errorf("got %q, %v; %d calls ended", got.text, got.err, inner.ended)
		}
	})
}

// A call that is stopped while it waits gives its turn to the next.
func TestLimitGivesTheTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := play(act{chunks: say("a")})
		m := wrap.Limit(inner, wrap.LimitOptions{PerMinute: 1})
		began := time.Now()
		ask(t.Context(), m, "x")
		ctx, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(30 * time.Second); cancel() }()
		if got := ask(ctx, m, "x"); !errors.Is(got.err, context.Canceled) {
			t.Errorf("who was stopped got %v", got.err)
		}
		if got := ask(t.Context(), m, "x"); got.err != nil || time.Since(began) != time.Minute {
			t.Errorf("the next began after %s, %v, want a minute", time.Since(began), got.err)
		}
	})
}

// An answer that has ended in time is whole, even if the model goes on in silence.
func TestTimeoutLeavesAFinishedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wrap.Timeout(play(act{chunks: say("a"), hang: true, quiet: true}), wrap.TimeoutOptions{Total: time.Second})
		if got := ask(t.Context(), m, "x"); got.text != "a" || got.err != nil {
			t.Errorf("got %q, %v", got.text, got.err)
		}
	})
}
