package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"usher/runtime/telemetry"
	"usher/tools/fault"
	"usher/tools/spend"
)

// spans returns telemetry that keeps its spans, and a function to look at them.
func spans(t *testing.T, content bool) (*telemetry.Telemetry, func() tracetest.SpanStubs) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	tel, err := telemetry.New(telemetry.Options{Tracer: provider, Content: content}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tel, kept.GetSpans
}

type fields = map[string]any

// shape is what a test compares of a span.
type shape struct {
	Name   string
	Kind   trace.SpanKind
	Status codes.Code
	Fields fields
}

func shapeOf(s tracetest.SpanStub) shape {
	out := shape{Name: s.Name, Kind: s.SpanKind, Status: s.Status.Code, Fields: fields{}}
	for _, kv := range s.Attributes {
		out.Fields[string(kv.Key)] = kv.Value.AsInterface()
	}
	return out
}

func byName(t *testing.T, all tracetest.SpanStubs, name string) tracetest.SpanStub {
	t.Helper()
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no span %q among %d", name, len(all))
	return tracetest.SpanStub{}
}

const secret = "the invoice of Kestrel"

// oneTurn is a turn with a model call, an allowed tool call and a denied one.
func oneTurn(ctx context.Context, tel *telemetry.Telemetry) {
	ctx, turn := tel.StartTurn(ctx, telemetry.Turn{Agent: "Carol", Owner: "did:key:z1", Session: "main", Job: "j1", Provider: "openai"})
	asking, model := turn.StartModelCall(ctx, telemetry.ModelCall{
		Provider: "openai", Model: "gpt-5-mini", Server: "localhost:8080", JSON: true,
	})
	model.Input("You keep "+secret, []telemetry.Message{
		{Role: "user", Text: secret},
		{Role: "assistant", Calls: []telemetry.MessageCall{{ID: "c0", Name: "covia_read", Arguments: `{"path":"<w>"}`}}},
		{Role: "tool", CallID: "c0", Text: "cut in the mid"},
	})
	model.Chunk()
	model.Chunk()
	usage := spend.Usage{Input: 100, Output: 20, CacheRead: 60, CacheWrite: 10, Cost: 2_500_000}
	model.End(asking, telemetry.Answer{
		Model: "gpt-5-mini-2026", Finish: "tool_calls", Usage: usage,
		Message: telemetry.Message{Text: secret, Calls: []telemetry.MessageCall{{ID: "c1", Name: "covia_write", Arguments: "{" + secret}}},
	}, nil)
	for _, c := range []struct {
		id, outcome string
		err         error
	}{{"c1", "ok", nil}, {"c2", "denied", classed{errors.New(secret)}}} {
		_, end := turn.StartToolCall(ctx, telemetry.ToolCall{
			Name: "covia_write", Operation: "v/ops/covia/write", ID: c.id, Arguments: `{"value":"` + secret + `"}`,
		})
		end(c.outcome, secret, false, c.err)
	}
	turn.End(ctx, 1, usage, fmt.Errorf("model of agent Carol: %w", errors.New(secret)))
}

type classed struct{ error }

func (classed) Code() fault.Code { return fault.Denied }

func TestSpansAreTheConventions(t *testing.T) {
	tel, kept := spans(t, false)
	oneTurn(t.Context(), tel)
	all := kept()
	var got []shape
	for _, s := range all {
		sh := shapeOf(s)
		if at, ok := sh.Fields["gen_ai.response.time_to_first_chunk"].(float64); ok && at >= 0 {
			sh.Fields["gen_ai.response.time_to_first_chunk"] = "measured"
		}
		got = append(got, sh)
	}
	tool := func(id, outcome string) fields {
		return fields{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "covia_write", "gen_ai.tool.type": "function", "gen_ai.tool.call.id": id,
			"gen_ai.agent.name": "Carol", "gen_ai.conversation.id": "main", "usher.operation": "v/ops/covia/write", "usher.outcome": outcome,
		}
	}
	denied := tool("c2", "denied")
	denied["error.type"] = "capability_denied"
	want := []shape{
		{"chat gpt-5-mini", trace.SpanKindClient, codes.Unset, fields{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5-mini", "gen_ai.output.type": "json",
			"gen_ai.agent.name": "Carol", "gen_ai.conversation.id": "main", "server.address": "localhost", "server.port": int64(8080),
			"gen_ai.response.model": "gpt-5-mini-2026", "gen_ai.response.finish_reasons": []string{"tool_calls"},
			"gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(20),
			"gen_ai.usage.cache_read.input_tokens": int64(60), "gen_ai.usage.cache_creation.input_tokens": int64(10),
			"usher.model.cost": 2.5, "gen_ai.response.time_to_first_chunk": "measured",
		}},
		{"execute_tool covia_write", trace.SpanKindInternal, codes.Unset, tool("c1", "ok")},
		{"execute_tool covia_write", trace.SpanKindInternal, codes.Error, denied},
		{"invoke_agent Carol", trace.SpanKindInternal, codes.Error, fields{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "openai", "gen_ai.agent.name": "Carol", "gen_ai.agent.id": "Carol",
			"gen_ai.conversation.id": "main", "usher.owner": "did:key:z1", "usher.job": "j1", "usher.model.calls": int64(1),
			"gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(20),
			"gen_ai.usage.cache_read.input_tokens": int64(60), "gen_ai.usage.cache_creation.input_tokens": int64(10),
			"usher.model.cost": 2.5, "error.type": "_OTHER",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	turn := byName(t, all, "invoke_agent Carol")
	for _, s := range all[:3] {
		if s.Parent.SpanID() != turn.SpanContext.SpanID() {
			t.Errorf("%s is not below the turn", s.Name)
		}
	}
	if scope := turn.InstrumentationScope; scope.Name != "usher/runtime" || scope.SchemaURL != "https://opentelemetry.io/schemas/1.41.0" {
		t.Errorf("the scope is %+v", scope)
	}
	if dump := fmt.Sprintf("%+v", all); strings.Contains(dump, "Kestrel") || strings.Contains(dump, "<w>") {
		t.Errorf("what was said is in the spans:\n%s", dump)
	}
}

// A wait is an event of its call, and no piece of the answer.
func TestADelayIsAnEvent(t *testing.T) {
	tel, kept := spans(t, false)
	ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{})
	ctx, model := turn.StartModelCall(ctx, telemetry.ModelCall{Model: "m"})
	model.Delay(1500*time.Millisecond, "", 2)
	model.Delay(0, "claude", 0)
	model.End(ctx, telemetry.Answer{}, nil)
	(*telemetry.ModelSpan)(nil).Delay(0, "", 0)
	span := byName(t, kept(), "chat m")
	var got []fields
	for _, ev := range span.Events {
		f := fields{"event": ev.Name}
		for _, kv := range ev.Attributes {
			f[string(kv.Key)] = kv.Value.AsInterface()
		}
		got = append(got, f)
	}
	want := []fields{
		{"event": "usher.model.delayed", "usher.delay.wait": 1.5, "usher.delay.try": int64(2)},
		{"event": "usher.model.delayed", "usher.delay.wait": 0.0, "usher.delay.next": "claude"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, ok := shapeOf(span).Fields["gen_ai.response.time_to_first_chunk"]; ok {
		t.Error("a wait counts as the first chunk")
	}
}

func TestContentWhereItIsAskedFor(t *testing.T) {
	tel, kept := spans(t, true)
	oneTurn(t.Context(), tel)
	all := kept()
	chat, turn := shapeOf(byName(t, all, "chat gpt-5-mini")), byName(t, all, "invoke_agent Carol")
	got := map[string]any{"status": turn.Status.Description}
	for _, key := range []string{"gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"} {
		got[key] = chat.Fields[key]
	}
	var allowed, denied shape
	for _, s := range all {
		switch sh := shapeOf(s); sh.Fields["usher.outcome"] {
		case "ok":
			allowed = sh
		case "denied":
			denied = sh
		}
	}
	got["arguments"], got["result"] = allowed.Fields["gen_ai.tool.call.arguments"], allowed.Fields["gen_ai.tool.call.result"]
	if _, has := denied.Fields["gen_ai.tool.call.result"]; has {
		t.Error("a denied call has a result")
	}
	want := map[string]any{
		"gen_ai.system_instructions": `[{"type":"text","content":"You keep the invoice of Kestrel"}]`,
		"gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"the invoice of Kestrel"}]},` +
			`{"role":"assistant","parts":[{"type":"tool_call","id":"c0","name":"covia_read","arguments":{"path":"<w>"}}]},` +
			`{"role":"tool","parts":[{"type":"tool_call_response","id":"c0","response":"cut in the mid"}]}]`,
		"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"the invoice of Kestrel"},` +
			`{"type":"tool_call","id":"c1","name":"covia_write","arguments":"{the invoice of Kestrel"}],"finish_reason":"tool_calls"}]`,
		"arguments": `{"value":"the invoice of Kestrel"}`,
		"result":    "the invoice of Kestrel",
		"status":    "model of agent Carol: the invoice of Kestrel",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is not known is not recorded, but for what the conventions require.
func TestUnknownsAreLeftOut(t *testing.T) {
	tel, kept := spans(t, false)
	ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{})
	asking, model := turn.StartModelCall(ctx, telemetry.ModelCall{Server: "api.openai.com"})
	model.Chunk()
	model.End(asking, telemetry.Answer{}, context.DeadlineExceeded)
	_, end := turn.StartToolCall(ctx, telemetry.ToolCall{})
	end("failed", "", false, context.Canceled)
	turn.End(ctx, 0, spend.Usage{}, nil)
	var got []shape
	for _, s := range kept() {
		got = append(got, shapeOf(s))
	}
	want := []shape{
		{"chat", trace.SpanKindClient, codes.Error, fields{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "_OTHER", "server.address": "api.openai.com", "server.port": int64(443), "error.type": "timeout",
		}},
		{"execute_tool", trace.SpanKindInternal, codes.Error, fields{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", "usher.outcome": "failed", "error.type": "canceled",
		}},
		{"invoke_agent", trace.SpanKindInternal, codes.Unset, fields{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "_OTHER", "usher.model.calls": int64(0),
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type coded struct{}

func (*coded) Error() string    { return secret }
func (*coded) Code() fault.Code { return fault.BudgetSpent }

type plain struct{}

func (*plain) Error() string { return secret }

func TestErrorsHaveAClass(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a class of its own":  {fmt.Errorf("x: %w", classed{errors.New("y")}), "capability_denied"},
		"a code":              {fmt.Errorf("x: %w", &coded{}), "budget_spent"},
		"a type without one":  {fmt.Errorf("x: %w", &plain{}), "_OTHER"},
		"several without one": {errors.Join(errors.New("x"), errors.New("y")), "_OTHER"},
	} {
		t.Run(name, func(t *testing.T) {
			tel, kept := spans(t, false)
			ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{Agent: "A"})
			turn.End(ctx, 0, spend.Usage{}, c.err)
			if got := shapeOf(kept()[0]).Fields["error.type"]; got != c.want {
				t.Errorf("error.type of %v is %v, want %s", c.err, got, c.want)
			}
		})
	}
}

// Telemetry that is off is nil, and a turn with it allocates nothing for it.
func TestOffCostsNothing(t *testing.T) {
	tel, err := telemetry.New(telemetry.Options{Content: true}, slog.New(slog.DiscardHandler))
	if tel != nil || err != nil {
		t.Fatalf("New of nothing = %v, %v", tel, err)
	}
	ctx := t.Context()
	failure := errors.New("x")
	got := testing.AllocsPerRun(100, func() {
		turning, turn := tel.StartTurn(ctx, telemetry.Turn{Agent: "Carol", Session: "main"})
		asking, model := turn.StartModelCall(turning, telemetry.ModelCall{Model: "m", Server: "localhost:1"})
		if model.Content() {
			t.Error("it wants content")
		}
		model.Chunk()
		model.End(asking, telemetry.Answer{Model: "m", Usage: spend.Usage{Input: 1}}, nil)
		_, end := turn.StartToolCall(turning, telemetry.ToolCall{Name: "x"})
		end("failed", "", false, failure)
		turn.End(turning, 1, spend.Usage{}, failure)
	})
	if got != 0 {
		t.Errorf("a turn without telemetry makes %.0f allocations for it", got)
	}
}

// long is an error whose class is as long as its author likes.
type long struct{}

func (long) Error() string { return "x" }

func (long) Code() fault.Code { return fault.Code(strings.Repeat("y", 127) + "é") }

// Words that somebody else has given are cut, between characters.
func TestWordsOfOthersAreCut(t *testing.T) {
	tel, kept := spans(t, false)
	word, want := string(long{}.Code()), strings.Repeat("y", 127)+"…"
	ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{Agent: "A"})
	asking, model := turn.StartModelCall(ctx, telemetry.ModelCall{})
	model.End(asking, telemetry.Answer{Model: word, Finish: word}, long{})
	_, end := turn.StartToolCall(ctx, telemetry.ToolCall{ID: word})
	end("ok", "", false, long{})
	turn.End(ctx, 1, spend.Usage{}, nil)
	all := kept()
	for span, keys := range map[string][]string{
		"chat":         {"gen_ai.response.model", "gen_ai.response.finish_reasons", "error.type"},
		"execute_tool": {"gen_ai.tool.call.id", "error.type"},
	} {
		got := shapeOf(byName(t, all, span)).Fields
		for _, key := range keys {
			if text := strings.Trim(fmt.Sprint(got[key]), "[]"); text != want {
				t.Errorf("%s of %s is %q, want %q", key, span, text, want)
			}
		}
	}
}
