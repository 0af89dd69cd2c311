package venue_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/offline"
	"usher/runtime/telemetry"
	"usher/tools"
	"usher/tools/agents"
	"usher/venue"
)

// A venue in a Go program: Carol may read everything and write decisions.
func Example() {
	ctx := context.Background()
	v, err := venue.Open(ctx, &venue.Options{ // Dir: "data" keeps it on disk
		Models: map[string]runtime.Model{"default": offline.Model{}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer v.Close()

	alice, err := v.User(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	carol, err := alice.CreateAgent(ctx, agents.Spec{
		ID:     "Carol",
		Prompt: "You approve payments.",
		Tools:  []string{"covia:read", "covia:write"},
		Caps: caps.Declare(caps.Of(
			caps.MustCapability("w/", "crud/read"),
			caps.MustCapability("w/decisions/", "crud"),
		)),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, say := range []string{"write w/decisions/INV-7 approved", "write w/vendors/Evil approved"} {
		for ev, err := range carol.Chat(ctx, say) {
			if err != nil {
				log.Fatal(err)
			}
			if done, ok := ev.(runtime.ToolEnd); ok {
				fmt.Println(done.Operation, done.Outcome)
			}
		}
	}
	// Output:
	// v/ops/covia/write ok
	// v/ops/covia/write denied
}

type lookup struct {
	ID string `json:"id"`
}

type customer struct {
	Name string `json:"name"`
}

// A tool of one's own is a typed function with its needs beside it.
func ExampleOptions_tools() {
	ctx := context.Background()
	crm := tools.New("crm:lookup", "Look up a customer.",
		func(in lookup) []caps.Request { return []caps.Request{caps.Need("crud/read", "w/crm/"+in.ID)} },
		func(ctx context.Context, call tools.Call, in lookup) (customer, error) {
			return customer{Name: "Customer " + in.ID}, nil
		})
	v, err := venue.Open(ctx, &venue.Options{Tools: []*tools.Operation{crm}})
	if err != nil {
		log.Fatal(err)
	}
	defer v.Close()
	alice, err := v.User(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	out, err := alice.Invoke(ctx, "crm:lookup", lookup{ID: "7"})
	fmt.Println(string(out), err)
	// Output: {"name":"Customer 7"} <nil>
}

// A program's own OpenTelemetry sees the turns, and the decisions of the gate.
func ExampleOptions_telemetry() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter()
	tracers, meters := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), sdkmetric.NewMeterProvider()
	v, err := venue.Open(ctx, &venue.Options{
		Telemetry: telemetry.Options{Tracer: tracers, Meter: meters}, // Content: true records what is said, too
		Logger:    slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer v.Close()
	alice, err := v.User(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := alice.Invoke(ctx, "covia:write", map[string]any{"path": "w/a", "value": 1}); err != nil {
		log.Fatal(err)
	}
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name)
	}
	// Output: usher.gate.decide v/ops/covia/write
}

// What a server does with a token: the principal is all that it needs.
func ExampleVenue_Authenticate() {
	ctx := context.Background()
	v, err := venue.Open(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer v.Close()
	alice, err := v.User(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	token, err := v.Session(ctx, alice, time.Hour)
	if err != nil {
		log.Fatal(err)
	}

	serve := func(p *venue.Principal) error {
		ruling, err := p.Decide(ctx, "covia:write", map[string]any{"path": "w/note", "value": 1})
		if err != nil {
			return err
		}
		fmt.Println(ruling.Verdict())
		run, err := p.Start(ctx, "covia:write", map[string]any{"path": "w/note", "value": 1})
		if err != nil {
			return err
		}
		for e, err := range p.Events(ctx, run, 0) {
			fmt.Println(e.Event, err)
		}
		rec, err := p.Run(ctx, run)
		fmt.Println(rec.Kind, rec.Status)
		return err
	}
	p, err := v.Authenticate(ctx, token)
	if err == nil {
		err = serve(p)
	}
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// allow
	// job COMPLETE
}
