package venue_test

import (
	"fmt"
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
	p.ask("secret_set", `{"name":"A","value":"`+value+`"}`)
	p.ask("secret_extract", `{"name":"A"}`)
	p.ask("covia_read", `{"path":"w/plain"}`)
	chat(t, carol, "go")
	if heard := strings.Join(p.heard, "\n"); !strings.Contains(heard, value) {
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
