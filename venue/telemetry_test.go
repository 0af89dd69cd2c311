package venue_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/venue"
	"usher/venue/config"
)

// Everything in the observed turn that is nobody else's business has this word.
const confidential = "kestrel"

const observedKey = "sk-observed-kestrel"

// approving is a server that speaks the Chat Completions format: it asks for a
// write that is allowed, then for one that is not, then for a tool that there
// is not, and answers.
func approving(t *testing.T) string {
	t.Helper()
	call := func(id, name, path string) string {
		arguments, err := json.Marshal(fmt.Sprintf(`{"path":%q,"value":%q}`, path, confidential))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, id, name, arguments)
	}
	deltas := []string{
		call("c1", "covia_write", "w/decisions/INV-7"), call("c2", "covia_write", "w/vendors/Evil"), call("c3", "pay_"+confidential, "w/x"),
		`{"content":"The ` + confidential + ` invoice is approved."}`,
	}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.Header.Get("Authorization") != "Bearer "+observedKey {
			t.Errorf("request with %q: %v", r.Header.Get("Authorization"), err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"model\":\"m-2026\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", deltas[asked.Add(1)-1])
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":110,\"prompt_tokens_details\":{\"cached_tokens\":40}}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// watched is what telemetry and the log made of one turn.
type watched struct {
	spans   tracetest.SpanStubs
	metrics metricdata.ResourceMetrics
	server  string // host:port of the model's
}

// observe runs the turn.
func observe(t *testing.T, content bool) watched {
	t.Helper()
	t.Setenv("OBSERVED_KEY", observedKey)
	url := approving(t)
	c, err := config.Parse("usher.yaml", []byte(`
models:
  default: {provider: openai, model: m, key: env:OBSERVED_KEY, base_url: "`+url+`"}
data:
  - {path: w/docs/policy, value: The `+confidential+` policy.}
agents:
  - id: carol
    prompt: You pay for `+confidential+`.
    tools: [covia:read, covia:write]
    context: [{path: w/docs/policy, label: Policy}]
    caps: [{with: w/, can: crud/read}, {with: w/decisions/, can: crud}]
`))
	if err != nil {
		t.Fatal(err)
	}
	kept, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	v := open(t, &venue.Options{
		Config: c,
		Telemetry: telemetry.Options{
			Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)), Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), Content: content,
		},
	})
	carol, err := user(t, v, c.User).Agent(t.Context(), "carol")
	if err != nil {
		t.Fatal(err)
	}
	kept.Reset() // of what opening took
	for _, err := range carol.ChatIn(t.Context(), "main", "Approve "+confidential) {
		if err != nil {
			t.Fatal(err)
		}
	}
	out := watched{spans: kept.GetSpans(), server: strings.TrimPrefix(url, "http://")}
	if err := reader.Collect(t.Context(), &out.metrics); err != nil {
		t.Fatal(err)
	}
	return out
}

// tree draws the spans, in the order of their start, with the kind of those
// that are not internal and the class of failures.
func (w *watched) tree() string {
	all := slices.Clone(w.spans)
	slices.SortStableFunc(all, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var b strings.Builder
	var draw func(parent trace.SpanID, indent string)
	draw = func(parent trace.SpanID, indent string) {
		for _, s := range all {
			if s.Parent.SpanID() != parent {
				continue
			}
			b.WriteString("\n" + indent + s.Name)
			if s.SpanKind != trace.SpanKindInternal {
				b.WriteString(" [" + s.SpanKind.String() + "]")
			}
			if class, failed := field(s, "error.type"), s.Status.Code == codes.Error; failed || class != nil {
				fmt.Fprintf(&b, " ! %v", cmp.Or(class, any("?")))
			}
			draw(s.SpanContext.SpanID(), indent+"  ")
		}
	}
	draw(trace.SpanID{}, "")
	return b.String()
}

func field(s tracetest.SpanStub, key string) any {
	for _, kv := range s.Attributes {
		if string(kv.Key) == key {
			return kv.Value.AsInterface()
		}
	}
	return nil
}

func TestATurnIsTraced(t *testing.T) {
	w := observe(t, false)
	const want = `
invoke_agent carol
  usher.gate.decide v/ops/covia/read
  chat m [client]
  execute_tool covia_write
    usher.gate.decide v/ops/covia/write
  chat m [client]
  execute_tool covia_write ! capability_denied
    usher.gate.decide v/ops/covia/write
  chat m [client]
  execute_tool ! not_found
  chat m [client]`
	if diff := gocmp.Diff(want, w.tree()); diff != "" {
		t.Error(diff)
	}
	var got []map[string]any
	for _, s := range w.spans {
		fields := make(map[string]any)
		for _, key := range []string{
			"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name", "gen_ai.conversation.id", "gen_ai.request.model", "gen_ai.response.model",
			"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.tool.name", "gen_ai.tool.call.id",
			"usher.outcome", "usher.verdict", "usher.agent", "usher.session", "usher.operation",
			"usher.requirement.ability", "usher.requirement.resource", "usher.requirement.capability",
		} {
			if v := field(s, key); v != nil {
				fields[key] = v
			}
		}
		got = append(got, fields)
		if s.Name == "chat m" {
			if at := fmt.Sprintf("%v:%v", field(s, "server.address"), field(s, "server.port")); at != w.server {
				t.Errorf("the model was asked at %s, want %s", at, w.server)
			}
			if reasons := fmt.Sprint(field(s, "gen_ai.response.finish_reasons")); reasons != "[stop]" {
				t.Errorf("finish reasons %s", reasons)
			}
			if at, ok := field(s, "gen_ai.response.time_to_first_chunk").(float64); !ok || at <= 0 {
				t.Errorf("the first chunk came after %v", field(s, "gen_ai.response.time_to_first_chunk"))
			}
		}
	}
	chat := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.agent.name": "carol", "gen_ai.conversation.id": "main",
		"gen_ai.request.model": "m", "gen_ai.response.model": "m-2026",
		"gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(10), "gen_ai.usage.cache_read.input_tokens": int64(40),
	}
	decision := func(operation, verdict, can, on, by string) map[string]any {
		return map[string]any{
			"usher.operation": operation, "usher.verdict": verdict, "usher.agent": "carol", "usher.session": "main",
			"usher.requirement.ability": []string{can}, "usher.requirement.resource": []string{on}, "usher.requirement.capability": []string{by},
		}
	}
	tool := func(id, outcome string) map[string]any {
		return map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.agent.name": "carol", "gen_ai.conversation.id": "main", "gen_ai.tool.call.id": id,
			"usher.outcome": outcome, "gen_ai.tool.name": "covia_write", "usher.operation": "v/ops/covia/write",
		}
	}
	missing := tool("c3", "failed")
	delete(missing, "gen_ai.tool.name")
	delete(missing, "usher.operation")
	wanted := []map[string]any{ // in the order of their ends
		decision("v/ops/covia/read", "allowed", "crud/read", "w/docs/policy", "crud/read on w/"),
		chat,
		decision("v/ops/covia/write", "allowed", "crud/write", "w/decisions/INV-7", "crud on w/decisions/"),
		tool("c1", "ok"),
		chat,
		decision("v/ops/covia/write", "denied", "crud/write", "w/vendors/Evil", "(unmet)"),
		tool("c2", "denied"),
		chat,
		missing,
		chat,
		{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "openai", "gen_ai.agent.name": "carol", "gen_ai.conversation.id": "main",
			"gen_ai.usage.input_tokens": int64(400), "gen_ai.usage.output_tokens": int64(40), "gen_ai.usage.cache_read.input_tokens": int64(160),
		},
	}
	if diff := gocmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
}

func TestTelemetryKeepsSecrets(t *testing.T) {
	w := observe(t, false)
	if dump := fmt.Sprintf("%+v %+v", w.spans, w.metrics); strings.Contains(dump, confidential) {
		t.Errorf("what was said, written or kept secret is exported:\n%s", dump)
	}
	w = observe(t, true)
	dump := fmt.Sprintf("%+v", w.spans)
	for _, said := range []string{
		"Approve " + confidential, "You pay for " + confidential, "The " + confidential + " policy.",
		"The " + confidential + " invoice is approved.",
	} {
		if !strings.Contains(dump, said) {
			t.Errorf("content was asked for, and %q is not in the spans", said)
		}
	}
	const arguments = `{"path":"w/decisions/INV-7","value":"` + confidential + `"}`
	if !slices.ContainsFunc(w.spans, func(s tracetest.SpanStub) bool { return field(s, "gen_ai.tool.call.arguments") == arguments }) {
		t.Error("content was asked for, and no span has the arguments")
	}
	if strings.Contains(dump, observedKey) {
		t.Error("the key is in the spans")
	}
}

func TestATurnIsCounted(t *testing.T) {
	w := observe(t, false)
	got := make(map[string]float64)
	for _, scope := range w.metrics.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					got[m.Name] += float64(p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					kind, _ := p.Attributes.Value("gen_ai.token.type")
					got[m.Name+" "+kind.AsString()] += float64(p.Sum)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					verdict, _ := p.Attributes.Value("usher.verdict")
					got[m.Name+" "+verdict.AsString()] += float64(p.Value)
				}
			}
		}
	}
	// Opening the venue writes its data through the gate, too.
	delete(got, "usher.gate.decisions allowed")
	want := map[string]float64{
		"gen_ai.client.operation.duration": 4, "gen_ai.client.operation.time_to_first_chunk": 4,
		"gen_ai.client.token.usage input": 400, "gen_ai.client.token.usage output": 40,
		"usher.gate.decisions denied": 1,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A decision that rests on a chain names its tokens.
func TestDecisionsNameTheirProofs(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	v := open(t, &venue.Options{Telemetry: telemetry.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))}})
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	cid := delegate(t, bob, alice.DID().String(), "crud/write", "w/shared")
	kept.Reset()
	path := bob.DID().String() + "/w/shared/note"
	invoke(t, alice, "covia:write", `{"path":"`+path+`","value":"hi"}`)
	decision := kept.GetSpans()[0]
	if diff := gocmp.Diff([]string{cid}, field(decision, "usher.proofs")); diff != "" {
		t.Error(diff)
	}
	if got := field(decision, "usher.owner"); got != alice.DID().String() {
		t.Errorf("usher.owner = %v, want the caller, %s", got, alice.DID())
	}
}

// What goes on in the background belongs to the trace of what started it.
func TestBackgroundJobsStayInTheirTrace(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	p := new(puppet)
	v := open(t, &venue.Options{
		Models: map[string]runtime.Model{"default": p}, Telemetry: telemetry.Options{Tracer: tracers},
	})
	alice := user(t, v, "alice")
	create(t, alice, spec("carol", "", `[]`))
	kept.Reset()
	ctx, request := tracers.Tracer("test").Start(t.Context(), "request")
	if _, err := alice.Invoke(ctx, "agent:request", map[string]any{"agentId": "carol", "input": "hello", "timeout": 60_000}); err != nil {
		t.Fatal(err)
	}
	request.End()
	var turns int
	for _, s := range kept.GetSpans() {
		if s.SpanContext.TraceID() != request.SpanContext().TraceID() {
			t.Errorf("%s is in another trace", s.Name)
		}
		if s.Name == "invoke_agent carol" {
			turns++
			if job, _ := field(s, "usher.job").(string); job == "" {
				t.Error("the turn does not name its job")
			}
		}
	}
	if turns != 1 {
		t.Errorf("%d turns were traced, want 1", turns)
	}
}
