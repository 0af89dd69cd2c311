package wrap_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/spend"
)

// delays lists what a consumer was told of waits.
func (a *answer) delays() []runtime.Delay {
	var all []runtime.Delay
	for _, c := range a.chunks {
		if c.Delay != nil {
			all = append(all, *c.Delay)
		}
	}
	return all
}

var (
	busy   = outage{text: "busy", temporary: true}
	busyOn = runtime.Chunk{Delay: &runtime.Delay{Reason: "busy", Wait: time.Second, Try: 2, Tries: 4}}
)

func TestDelaysAreTold(t *testing.T) {
	limited := func(m runtime.Model) runtime.Model { return wrap.Limit(m, wrap.LimitOptions{PerMinute: 6}) }
	for _, tc := range []struct {
		name  string
		model func(t *testing.T) runtime.Model
		want  []runtime.Delay
		err   string
	}{
		{
			name: "a call is made again",
			model: func(t *testing.T) runtime.Model {
				return wrap.Retry(play(act{err: busy}, act{err: busy}, act{chunks: say("hi")}), &wrap.RetryOptions{Rand: middle})
			},
			want: []runtime.Delay{{Reason: "busy", Wait: 500 * time.Millisecond, Try: 2, Tries: 4}, {Reason: "busy", Wait: time.Second, Try: 3, Tries: 4}},
		},
		{
			name: "not after the last try",
			model: func(t *testing.T) runtime.Model {
				return wrap.Retry(play(act{err: busy}), &wrap.RetryOptions{Rand: middle, Tries: 2})
			},
			want: []runtime.Delay{{Reason: "busy", Wait: 500 * time.Millisecond, Try: 2, Tries: 2}},
			err:  "after 2 tries: busy",
		},
		{
			name: "another model is asked",
			model: func(t *testing.T) runtime.Model {
				return wrap.Fallback(play(act{err: errPlain}), wise{play(act{chunks: say("hi")})})
			},
			want: []runtime.Delay{{Reason: "no such model", Next: "claude"}},
		},
		{
			name: "another one that has no name",
			model: func(t *testing.T) runtime.Model {
				return wrap.Fallback(play(act{err: errPlain}), play(act{chunks: say("hi")}))
			},
			want: []runtime.Delay{{Reason: "no such model", Next: "a model without a name"}},
		},
		{
			name:  "not when none is left",
			model: func(t *testing.T) runtime.Model { return wrap.Fallback(play(act{err: errPlain})) },
			err:   "no such model",
		},
		{
			name: "the rate holds the call back",
			model: func(t *testing.T) runtime.Model {
				m := limited(play(act{chunks: say("hi")}))
				ask(t.Context(), m, "first")
				return m
			},
			want: []runtime.Delay{{Reason: "rate limit: 6 calls a minute", Wait: 10 * time.Second}},
		},
		{name: "not without a wait", model: func(t *testing.T) runtime.Model { return limited(play(act{chunks: say("hi")})) }},
		{
			name: "by whatever stands around",
			model: func(t *testing.T) runtime.Model {
				m := wrap.Retry(play(act{err: busy}, act{chunks: say("hi")}), &wrap.RetryOptions{Rand: middle})
				m = charged(wrap.Timeout(m, wrap.TimeoutOptions{Total: time.Hour}), nil, spend.NewBudget("b", spend.Limits{Calls: 5}))
				return wrap.Cache(wrap.Fallback(wrap.Limit(m, wrap.LimitOptions{Concurrent: 1})), nil)
			},
			want: []runtime.Delay{{Reason: "busy", Wait: 500 * time.Millisecond, Try: 2, Tries: 4}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := ask(t.Context(), tc.model(t), "x")
				if diff := cmp.Diff(tc.want, got.delays()); diff != "" || message(got.err) != tc.err {
					t.Errorf("%v; delays (-want +got):\n%s", got.err, diff)
				}
			})
		})
	}
}

// wise says what it is.
type wise struct{ *script }

func (wise) About() runtime.About { return runtime.About{Provider: "anthropic", Model: "claude"} }

// Whoever leaves while a call waits has it made no more.
func TestADelayCanBeLeft(t *testing.T) {
	for _, tc := range []struct {
		name  string
		wrap  func(t *testing.T, m runtime.Model) runtime.Model
		calls int
	}{
		{"retry", func(t *testing.T, m runtime.Model) runtime.Model { return wrap.Retry(m, nil) }, 1},
		{"fallback", func(t *testing.T, m runtime.Model) runtime.Model { return wrap.Fallback(m, m) }, 1},
		{"timeout", func(t *testing.T, m runtime.Model) runtime.Model {
			return wrap.Timeout(wrap.Retry(m, nil), wrap.TimeoutOptions{Total: time.Hour})
		}, 1},
		{"rate limit", func(t *testing.T, m runtime.Model) runtime.Model {
			m = wrap.Limit(m, wrap.LimitOptions{PerMinute: 6})
			ask(t.Context(), m, "first")
			return m
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, told := play(act{err: busy}), 0
				m, start := tc.wrap(t, inner), time.Now()
				for chunk := range m.Generate(t.Context(), &runtime.Request{}) {
					if chunk.Delay != nil {
						told++
						break
					}
				}
				if inner.calls != tc.calls || told != 1 || time.Since(start) != 0 {
					t.Errorf("%d calls, told %d times, in %s", inner.calls, told, time.Since(start))
				}
			})
		})
	}
}

// A delay is no beginning of an answer.
func TestADelayIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := play(act{chunks: []runtime.Chunk{busyOn}, hang: true})
		got := ask(t.Context(), wrap.Timeout(late, wrap.TimeoutOptions{FirstChunk: time.Second}), "x")
		if message(got.err) != "the model did not begin to answer within 1s" || len(got.delays()) != 1 {
			t.Errorf("timeout: %v, %v", got.delays(), got.err)
		}
		again := play(act{chunks: []runtime.Chunk{busyOn}, err: busy}, act{chunks: say("hi")})
		if got := ask(t.Context(), wrap.Retry(again, nil), "x"); got.text != "hi" || got.err != nil || len(got.delays()) != 2 {
			t.Errorf("retry: %q, %v, %v", got.text, got.delays(), got.err)
		}
		kept := wrap.Cache(play(act{chunks: append([]runtime.Chunk{busyOn}, say("hi")...)}), nil)
		for i, told := range []int{1, 0} {
			if got := ask(t.Context(), kept, "x"); got.text != "hi" || len(got.delays()) != told {
				t.Errorf("cache, call %d: %q, %v; want %d delays", i+1, got.text, got.delays(), told)
			}
		}
	})
}
