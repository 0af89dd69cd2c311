package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"usher/caps"
	"usher/runtime/telemetry"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/ucan"
)

// watched is a gate whose decisions a test sees.
type watched struct {
	*tools.Gate
	mint  *toolstest.Mint
	spans *tracetest.InMemoryExporter
	meter *sdkmetric.ManualReader
	tp    *sdktrace.TracerProvider
}

func watch(t *testing.T, ops ...*tools.Operation) *watched {
	t.Helper()
	registry := new(tools.Registry)
	if err := registry.Register(ops...); err != nil {
		t.Fatal(err)
	}
	w := &watched{spans: tracetest.NewInMemoryExporter(), meter: sdkmetric.NewManualReader()}
	w.tp = sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans))
	tel, err := telemetry.New(telemetry.Options{Tracer: w.tp, Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.meter))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Gate, w.mint = toolstest.NewGate(registry, &tools.GateOptions{Observer: tel})
	return w
}

func attributesOf(list []attribute.KeyValue) map[string]any {
	out := make(map[string]any)
	for _, kv := range list {
		out[string(kv.Key)] = kv.Value.AsInterface()
	}
	return out
}

type pathInput struct {
	Path  string `json:"path"`
	Value string `json:"value,omitempty"`
}

func mayWrite(in pathInput) []caps.Request { return []caps.Request{caps.Need("crud/write", in.Path)} }

var writer = tools.New("test:write", "Write.", mayWrite,
	func(context.Context, tools.Call, pathInput) (any, error) { return "done", nil })

func newOwner(t *testing.T) ucan.DID {
	t.Helper()
	key, err := ucan.KeyFromSeed([]byte("seed of the owner of this test 32"[:32]))
	if err != nil {
		t.Fatal(err)
	}
	return key.DID()
}

func holding(list ...caps.Capability) func() caps.Set {
	set := caps.Of(list...)
	return func() caps.Set { return set }
}

// copier needs two things.
var copier = tools.New("test:copy", "Copy.",
	func(in pathInput) []caps.Request {
		return []caps.Request{caps.Need("crud/read", in.Path), caps.Need("crud/write", in.Value)}
	},
	func(context.Context, tools.Call, pathInput) (any, error) { panic("the confidential handler") })

func TestDecisionsAreTraced(t *testing.T) {
	me := newOwner(t)
	one := func(text string) []string { return []string{text} }
	for name, tc := range map[string]struct {
		operation, input string
		span             string
		want             map[string]any // beside the caller
		reason           string         // begin of usher.reason
		failed           bool
	}{
		"allowed": {
			operation: "test:write", input: `{"path":"w/notes/a","value":"confidential"}`, span: "usher.gate.decide v/ops/test/write",
			want: map[string]any{
				"usher.operation": "v/ops/test/write", "usher.verdict": "allowed", "usher.requirement.ability": one("crud/write"),
				"usher.requirement.resource": one("w/notes/a"), "usher.requirement.capability": one("crud on w/notes/"),
			},
		},
		"allowed, and the handler fails": {
			operation: "test:copy", input: `{"path":"w/a","value":"w/notes/confidential"}`, span: "usher.gate.decide v/ops/test/copy",
			want: map[string]any{
				"usher.operation": "v/ops/test/copy", "usher.verdict": "allowed", "usher.requirement.ability": []string{"crud/read", "crud/write"},
				"usher.requirement.resource": []string{"w/a", "w/notes/confidential"}, "usher.requirement.capability": []string{"crud/read on w/", "crud on w/notes/"},
			},
		},
		"denied": {
			operation: "test:copy", input: `{"path":"w/a","value":"w/b"}`, span: "usher.gate.decide v/ops/test/copy",
			reason: "Capability denied: v/ops/test/copy requires crud/write on w/b. Your capabilities are:",
			want: map[string]any{
				"usher.operation": "v/ops/test/copy", "usher.verdict": "denied", "usher.requirement.ability": []string{"crud/read", "crud/write"},
				"usher.requirement.resource": []string{"w/a", "w/b"}, "usher.requirement.capability": []string{"crud/read on w/", "(unmet)"},
			},
		},
		"denied by its name alone": {
			operation: "o/secret-plan", input: `{}`, span: "usher.gate.decide", reason: "Capability denied: o/secret-plan requires invoke on o/secret-plan.",
			want: map[string]any{
				"usher.operation": "o/secret-plan", "usher.verdict": "denied", "usher.requirement.ability": one("invoke"),
				"usher.requirement.resource": one("o/secret-plan"), "usher.requirement.capability": one("(unmet)"),
			},
		},
		"no such operation": {
			operation: "confidential:thing", input: `{}`, span: "usher.gate.decide", failed: true, want: map[string]any{"error.type": "not_found"},
		},
		"unusable input": {
			operation: "test:write", input: `{"path":"w/notes/confidential/../.."}`, span: "usher.gate.decide v/ops/test/write", failed: true,
			want: map[string]any{"usher.operation": "v/ops/test/write", "error.type": "invalid_input"},
		},
		"too much input": {
			operation: "test:write", input: `{"path":"` + strings.Repeat("x", tools.MaxInput) + `"}`, span: "usher.gate.decide", failed: true,
			want: map[string]any{"error.type": "too_large"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := watch(t, writer, copier)
			auth := g.mint.Agent(me, "bob", holding(caps.MustCapability("w/notes/", "crud"), caps.MustCapability("w/", "crud/read"))).
				ByCaller(g.mint.Agent(me, "ann", caps.Unrestricted), true).InSession("main").InRun("j1")
			ctx, turn := g.tp.Tracer("test").Start(t.Context(), "turn")
			_, _ = g.Invoke(ctx, auth, tools.Invocation{Operation: tc.operation, Input: json.RawMessage(tc.input)})
			turn.End()
			all := g.spans.GetSpans()
			if len(all) != 2 {
				t.Fatalf("%d spans, want the decision and the one above it", len(all))
			}
			span := all[0]
			got := attributesOf(span.Attributes)
			if reason, _ := got["usher.reason"].(string); !strings.HasPrefix(reason, tc.reason) || (reason == "") != (tc.reason == "") {
				t.Errorf("usher.reason = %q, want it to begin with %q", reason, tc.reason)
			}
			delete(got, "usher.reason")
			tc.want["usher.agent"], tc.want["usher.owner"], tc.want["usher.session"], tc.want["usher.job"] = "bob", me.String(), "main", "j1"
			tc.want["usher.via"] = one("ann")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if failed := span.Status.Code == codes.Error; span.Name != tc.span || failed != tc.failed {
				t.Errorf("the span is %q, failed %v; want %q, %v", span.Name, failed, tc.span, tc.failed)
			}
			if span.Parent.SpanID() != all[1].SpanContext.SpanID() {
				t.Error("the decision is not below the current span")
			}
			dump := strings.ReplaceAll(fmt.Sprintf("%+v", span), "w/notes/confidential", "") // a resource's name
			if strings.Contains(dump, "confidential") {
				t.Errorf("input or a failure's text is in the span:\n%s", dump)
			}
		})
	}
}

// What a handler does is no part of the decision.
func TestTheHandlerRunsBelowTheCaller(t *testing.T) {
	var g *watched
	nested := tools.New("test:nest", "Nest.",
		func(in pathInput) []caps.Request { return []caps.Request{caps.Need("crud/read", in.Path)} },
		func(ctx context.Context, call tools.Call, _ pathInput) (any, error) {
			_, span := g.tp.Tracer("test").Start(ctx, "handler")
			span.End()
			_, err := call.Invoke(ctx, "test:write", json.RawMessage(`{"path":"w/a"}`))
			return nil, err
		})
	g = watch(t, nested, writer)
	ctx, turn := g.tp.Tracer("test").Start(t.Context(), "turn")
	if _, err := g.Invoke(ctx, g.mint.User(newOwner(t)), tools.Invocation{Operation: "test:nest", Input: json.RawMessage(`{"path":"w/a"}`)}); err != nil {
		t.Fatal(err)
	}
	turn.End()
	names := make([]string, 0, 4)
	for _, s := range g.spans.GetSpans() {
		names = append(names, s.Name)
		if s.Name != "turn" && s.Parent.SpanID() != turn.SpanContext().SpanID() {
			t.Errorf("%s is not right below the turn", s.Name)
		}
	}
	if diff := cmp.Diff([]string{"usher.gate.decide v/ops/test/nest", "handler", "usher.gate.decide v/ops/test/write", "turn"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestDecisionsAreCounted(t *testing.T) {
	g := watch(t, writer)
	auth := g.mint.Agent(newOwner(t), "bob", holding(caps.MustCapability("w/notes/", "crud")))
	for _, inv := range []tools.Invocation{
		{Operation: "test:write", Input: json.RawMessage(`{"path":"w/notes/a"}`)},
		{Operation: "test:write", Input: json.RawMessage(`{"path":"w/notes/b"}`)},
		{Operation: "test:write", Input: json.RawMessage(`{"path":"w/b"}`)},
		{Operation: "o/anything-at-all"}, // counted, under no name of the caller's making
		{Operation: "test:nothing"},      // no decision
	} {
		_, _ = g.Invoke(t.Context(), auth, inv)
	}
	var all metricdata.ResourceMetrics
	if err := g.meter.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int64)
	counter := all.ScopeMetrics[0].Metrics[0]
	for _, p := range counter.Data.(metricdata.Sum[int64]).DataPoints {
		verdict, _ := p.Attributes.Value("usher.verdict")
		operation, _ := p.Attributes.Value("usher.operation")
		got[verdict.AsString()+" "+operation.AsString()] = p.Value
	}
	if diff := cmp.Diff(map[string]int64{"allowed v/ops/test/write": 2, "denied v/ops/test/write": 1, "denied ": 1}, got); diff != "" || counter.Name != "usher.gate.decisions" {
		t.Errorf("%s: %s", counter.Name, diff)
	}
}
