package wrap_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
)

// vendor is a model that knows about itself, and can count.
type vendor struct{ *script }

var about = runtime.About{Provider: "vendor", Model: "v-1", Server: "vendor.example", Window: 1000}

func (vendor) About() runtime.About { return about }

func (vendor) CountTokens(context.Context, *runtime.Request) (int, error) { return 42, nil }

// What the provider can do is found through each wrapper, and through all.
func TestWrappersUnwrap(t *testing.T) {
	wrappers := map[string]func(runtime.Model) runtime.Model{
		"retry":    func(m runtime.Model) runtime.Model { return wrap.Retry(m, nil) },
		"fallback": func(m runtime.Model) runtime.Model { return wrap.Fallback(m, play(act{})) },
		"limit":    func(m runtime.Model) runtime.Model { return wrap.Limit(m, wrap.LimitOptions{PerMinute: 1}) },
		"timeout":  func(m runtime.Model) runtime.Model { return wrap.Timeout(m, wrap.TimeoutOptions{Total: time.Second}) },
		"metered":  func(m runtime.Model) runtime.Model { return wrap.Meter(m, "m", nil) },
		"cache":    func(m runtime.Model) runtime.Model { return wrap.Cache(m, nil) },
	}
	all := runtime.Model(vendor{play(act{})})
	for _, wrapped := range wrappers {
		all = wrapped(all)
	}
	wrappers["all"] = func(runtime.Model) runtime.Model { return all }
	wrappers["composed"] = func(m runtime.Model) runtime.Model {
		return compose(t, map[string]runtime.Model{"small": play(act{})}, m, settings{
			"cache": true, "fallback": "small", "retry": true,
			"rate_limit": settings{"concurrent": number("1")}, "price": settings{"input": number("1"), "output": number("1")},
			"budget": settings{"calls": number("9")}, "timeouts": settings{"total": "1s"},
		})
	}
	for name, wrapped := range wrappers {
		t.Run(name, func(t *testing.T) {
			m := wrapped(vendor{play(act{})})
			if diff := cmp.Diff(about, runtime.Describe(m)); diff != "" {
				t.Errorf("Describe (-want +got):\n%s", diff)
			}
			counter, ok := runtime.As[runtime.Counter](m)
			if !ok {
				t.Fatal("nothing counts the tokens")
			}
			if n, err := counter.CountTokens(t.Context(), nil); n != 42 || err != nil {
				t.Errorf("CountTokens = %d, %v", n, err)
			}
		})
	}
	if diff := cmp.Diff(about, runtime.Describe(wrap.Record(vendor{play(act{})}, io.Discard, nil))); diff != "" {
		t.Errorf("Describe of a recording (-want +got):\n%s", diff)
	}
	if got := runtime.Describe(wrap.Fallback()); got != (runtime.About{}) {
		t.Errorf("no models at all are %+v", got)
	}
}

func TestWindow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	ask(t.Context(), compose(t, nil, play(act{chunks: say("hi")}), settings{"record": file}), "x")
	wide := about
	wide.Window = 128_000
	for _, tc := range []struct {
		name  string
		model runtime.Model
		in    settings
		want  runtime.About
	}{
		{"the provider's", vendor{play(act{})}, nil, about},
		{"the configuration's", vendor{play(act{})}, settings{"window": number("128000")}, wide},
		{"of a model that says nothing", play(act{}), settings{"window": number("128000")}, runtime.About{Window: 128_000}},
		{"of a replay", vendor{play(act{})}, settings{"window": number("128000"), "replay": file}, wide},
		{"a replay keeps what is known", vendor{play(act{})}, settings{"replay": file}, about},
		{"a replay of nobody", nil, settings{"replay": file}, runtime.About{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, runtime.Describe(compose(t, nil, tc.model, tc.in))); diff != "" {
				t.Errorf("About (-want +got):\n%s", diff)
			}
		})
	}
}
