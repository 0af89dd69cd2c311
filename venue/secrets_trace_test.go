package venue_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/venue"
)

// A trace that records what is said leaves out what sealed operations were
// given and gave, in their own spans and in the conversation.
func TestATraceHoldsNoSecret(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	p := new(puppet)
	v := open(t, &venue.Options{
		Models:    map[string]runtime.Model{"default": p},
		Telemetry: telemetry.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)), Content: true},
	})
	s := spec("carol", "", `[{"with":"","can":"*"}]`)
	s.Tools = []string{"secret:*", "covia:*"}
	carol := create(t, user(t, v, "alice"), s)
	p.Ask("secret_set", `{"name":"A","value":"`+value+`"}`)
	p.Ask("secret_extract", `{"name":"A"}`)
	p.Ask("covia_read", `{"path":"w/plain"}`)
	chat(t, carol, "go")
	if heard := strings.Join(p.Results(), "\n"); !strings.Contains(heard, value) {
		t.Fatalf("the agent did not get the secret: %s", heard)
	}
	var all strings.Builder
	for _, span := range kept.GetSpans() {
		fmt.Fprintln(&all, span.Name, span.Attributes, span.Events)
	}
	if strings.Contains(all.String(), value) {
		t.Errorf("the trace has the value:\n%s", all.String())
	}
	if !strings.Contains(all.String(), "w/plain") || !strings.Contains(all.String(), "[redacted]") {
		t.Errorf("the trace has no content at all:\n%s", all.String())
	}
}

// recorded returns the trace of what act does with an agent that may do anything.
func recorded(t *testing.T, m runtime.Model, act func(carol *venue.Agent)) string {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	v := open(t, &venue.Options{
		Models:    map[string]runtime.Model{"default": m},
		Telemetry: telemetry.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)), Content: true},
	})
	s := spec("carol", "", `[{"with":"","can":"*"}]`)
	s.Tools = []string{"secret:*", "covia:*"}
	carol := create(t, user(t, v, "alice"), s)
	kept.Reset()
	act(carol)
	var all strings.Builder
	for _, span := range kept.GetSpans() {
		fmt.Fprintln(&all, span.Name, span.Attributes, span.Events, span.Status)
	}
	if !strings.Contains(all.String(), "[redacted]") {
		t.Errorf("nothing was redacted: was anything recorded?\n%s", all.String())
	}
	return all.String()
}

// A secret that is too short to be looked for in what is said is left out with
// all that its calls were given and gave.
func TestATraceHoldsNoShortSecret(t *testing.T) {
	const short = "k7!"
	p := new(puppet)
	got := recorded(t, p, func(carol *venue.Agent) {
		for _, turn := range []string{"go", "go on"} {
			p.Ask("secret_set", `{"name":"PIN","value":"`+short+`"}`)
			p.Ask("secret_extract", `{"name":"PIN"}`)
			p.Ask("covia_read", `{"path":"w/plain"}`) // the puppet says what came last
			chat(t, carol, turn)
		}
	})
	if heard := strings.Join(p.Results(), "\n"); !strings.Contains(heard, short) {
		t.Fatalf("the agent did not get the secret: %s", heard)
	}
	if strings.Contains(got, short) {
		t.Errorf("the trace has the value:\n%s", got)
	}
}

// Nor does it stand in what an answer says beside the call, or asks for.
func TestATraceHoldsNoSecretBesideItsCall(t *testing.T) {
	asked := 0
	m := runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		asked++
		chunks := []runtime.Chunk{{Text: "done"}}
		if asked == 1 {
			chunks = []runtime.Chunk{
				{Text: "I store " + value},
				{Call: &runtime.CallDelta{Index: 0, ID: "a", Name: "covia_read", Arguments: `{"path":"w/plain","note":"` + value + `"}`}},
				{Call: &runtime.CallDelta{Index: 1, ID: "b", Name: "secret_set", Arguments: `{"name":"A","value":"` + value + `"}`}},
			}
		}
		return func(yield func(runtime.Chunk, error) bool) {
			for _, c := range chunks {
				if !yield(c, nil) {
					return
				}
			}
		}
	})
	got := recorded(t, m, func(carol *venue.Agent) { chat(t, carol, "go") })
	if asked != 2 || !strings.Contains(got, "I store") {
		t.Fatalf("the model was asked %d times:\n%s", asked, got)
	}
	if strings.Contains(got, value) {
		t.Errorf("the trace has the value:\n%s", got)
	}
}
