package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/telemetry"
	"usher/tools/schema"
)

// traced returns options with telemetry, and what it kept.
func traced(t *testing.T) (runtime.Options, *tracetest.InMemoryExporter) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	tel, err := telemetry.New(telemetry.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.Options{Telemetry: tel, Now: clock}, kept
}

// ends says how each span ended: its name, the outcome of a tool, and the class
// of a failure.
func ends(kept *tracetest.InMemoryExporter) []string {
	var out []string
	for _, s := range kept.GetSpans() {
		var outcome, class string
		for _, kv := range s.Attributes {
			switch kv.Key {
			case "usher.outcome":
				outcome = " " + kv.Value.AsString()
			case "error.type":
				class = " " + kv.Value.AsString()
			}
		}
		out = append(out, s.Name+outcome+class)
	}
	return out
}

// However a turn ends, its spans end and say why in a word.
func TestSpansSayHowATurnEnded(t *testing.T) {
	read := calls("map_read", `{"key":"w/a"}`)
	object, err := schema.Compile(t.Context(), json.RawMessage(`{"type":"object"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		answers [][]runtime.Chunk
		failure error
		change  func(f *fixture, o *runtime.Options)
		want    []string
	}{
		"well": {answers: [][]runtime.Chunk{read, text("done")}, want: []string{"chat", "execute_tool map_read ok", "chat", "invoke_agent bob"}},
		"model fails": {
			failure: fmt.Errorf("x: %w", endpoint.ErrTimeout), want: []string{"chat timeout", "invoke_agent bob timeout"},
		},
		"too many model calls": {
			answers: [][]runtime.Chunk{read, read}, change: func(_ *fixture, o *runtime.Options) { o.MaxModelCalls = 1 },
			want: []string{"chat", "execute_tool map_read ok", "invoke_agent bob model_calls"},
		},
		"no output that fits": {
			answers: [][]runtime.Chunk{text("no")},
			change: func(f *fixture, o *runtime.Options) {
				o.OutputTries, f.agent.Output = 1, object
			},
			want: []string{"chat", "invoke_agent bob output"},
		},
		"tools that fail": {
			answers: [][]runtime.Chunk{calls("map_read", `{"key":"x/../y"}`), calls("map_erase", `{}`), calls("map_write", `{"key":"w/a"}`), read, text("done")},
			change: func(f *fixture, _ *runtime.Options) {
				f.onRead = func(context.Context, string) (string, error) { panic("inside") }
			},
			want: []string{
				"chat", "execute_tool map_read failed invalid_input", "chat", "execute_tool failed not_found",
				"chat", "execute_tool map_write denied capability_denied", "chat", "execute_tool map_read failed panic", "chat", "invoke_agent bob",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, reader(), tc.answers...)
			if tc.failure != nil {
				f.model.failure = tc.failure
			}
			opts, kept := traced(t)
			if tc.change != nil {
				tc.change(f, &opts)
			}
			_, _ = turn(t, runtime.New(f.gate, &opts), f.agent, runtime.NewSession("s", nil), "go")
			if diff := cmp.Diff(tc.want, ends(kept)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Programs tell failures apart by a word, not by the text for people.
func TestTheEndOfATurnHasACode(t *testing.T) {
	read := calls("map_read", `{"key":"w/a"}`)
	for name, tc := range map[string]struct {
		failure error
		answers [][]runtime.Chunk
		want    string
	}{
		"well":                  {answers: [][]runtime.Chunk{text("done")}},
		"no word for it":        {failure: errors.New("no such model"), want: "failed"},
		"the model's time":      {failure: fmt.Errorf("x: %w", endpoint.ErrTimeout), want: "timeout"},
		"a word of its own":     {failure: codedError{"agent bob"}, want: "budget_spent"},
		"too many model calls":  {answers: [][]runtime.Chunk{read, read}, want: "model_calls"},
		"the model's window":    {failure: fmt.Errorf("x: %w", runtime.ErrWindow), want: "window"},
		"whoever listens left":  {failure: context.Canceled, want: "stopped"},
		"the caller's deadline": {failure: context.DeadlineExceeded, want: "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, reader(), tc.answers...)
			if tc.failure != nil {
				f.model.failure = tc.failure
			}
			var end runtime.TurnEnd
			events, _ := turn(t, f.runner(runtime.Options{MaxModelCalls: 2}), f.agent, runtime.NewSession("s", nil), "go")
			for _, ev := range events {
				if ev, ok := ev.(runtime.TurnEnd); ok {
					end = ev
				}
			}
			if end.Code != tc.want || (end.Error == "") != (tc.want == "") {
				t.Errorf("it ended with %q, %q; want the code %q", end.Code, end.Error, tc.want)
			}
		})
	}
}

func TestSpansOfATurnThatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, caps.Unrestricted(), calls("map_read", `{"key":"w/a"}`))
		f.onRead = func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		opts, kept := traced(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		var failure error
		for _, err := range runtime.New(f.gate, &opts).Turn(ctx, f.agent, runtime.NewSession("s", nil), runtime.Say{Text: "go"}) {
			failure = err
		}
		if !errors.Is(failure, context.Canceled) {
			t.Errorf("the turn ended with %v", failure)
		}
		if diff := cmp.Diff([]string{"chat", "execute_tool map_read stopped canceled", "invoke_agent bob canceled"}, ends(kept)); diff != "" {
			t.Error(diff)
		}
	})
}
