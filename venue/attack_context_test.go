package venue_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/tools"
	"usher/tools/agents"
	"usher/venue"
)

// To show an agent does nothing, and is paid for by nobody else.
func TestShowingAnAgentDoesNothing(t *testing.T) {
	h := newHouse(t, nil, nil)
	x := spec("x", "boss", forAgents)
	x.Budgets = &agents.Budgets{Agent: calls(1), Run: calls(1)}
	create(t, h.alice, x)
	done := attempt(t, agentOf(t, h.alice, "boss"), h.p, "agent_update", `{"agentId":"x","config":{"context":[{"op":"covia:write","input":{"path":"w/mark","value":"was here"}},{"op":"agent:request","input":{"agentId":"kid","input":"work"}}]}}`)
	if done.Outcome != runtime.ToolOK {
		t.Fatal(done.Result)
	}
	a := agentOf(t, h.alice, "x")
	for range 3 {
		if _, err := a.Brief(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, h.alice, "w/mark"); strings.Contains(got, "was here") {
		t.Errorf("to look at an agent wrote: %s", got)
	}
	if n := about(t, agentOf(t, h.alice, "kid")).Spent.Calls; n > 0 {
		t.Errorf("to look at an agent made %d model calls", n)
	}
}

// A context that asks for a turn of its own agent would have no end.
func TestAContextCannotAskItsOwnAgent(t *testing.T) {
	for name, config := range map[string]map[string]string{
		"itself": {"x": "x"}, "by way of another": {"x": "kid", "kid": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, nil, nil)
			create(t, h.alice, spec("x", "boss", forAgents))
			n := 0
			h.kidModel.before = func() { n++ }
			for of, ask := range config {
				invoke(t, h.alice, "agent:update", `{"agentId":"`+of+`","config":{"model":"kid","context":[{"op":"agent:request","input":{"agentId":"`+ask+`","input":"a"}},{"op":"agent:request","input":{"agentId":"`+ask+`","input":"b"}}]}}`)
			}
			if _, err := turnIn(t.Context(), agentOf(t, h.alice, "x"), "main", "hello"); err != nil {
				t.Error(err)
			}
			if n > 4 {
				t.Errorf("%d model calls came of one message", n)
			}
			if !strings.Contains(strings.Join(h.q.Systems(), "\n"), "loading its context") {
				t.Errorf("the model is not told why: %q", h.q.Systems())
			}
		})
	}
}

// All that a turn starts, its context included, has one budget of calls.
func TestATurnHasOneBudgetOfCalls(t *testing.T) {
	p := new(puppet)
	made := 0
	many := tools.New("test:many", "Call much.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, call tools.Call, _ struct{}) (int, error) {
			for range 4000 {
				if _, err := call.Invoke(ctx, "test:one", nil); err != nil {
					return made, err
				}
			}
			return made, nil
		})
	one := tools.New("test:one", "Call.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(context.Context, tools.Call, struct{}) (int, error) { made++; return made, nil })
	v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": p}, Tools: []*tools.Operation{many, one}})
	s := spec("carol", "", `[{"with":"","can":"*"}]`)
	for range 4 {
		s.Context = append(s.Context, agents.ContextEntry{Op: "test:many"})
	}
	chat(t, create(t, user(t, v, "alice"), s), "go")
	if made >= 10_000 {
		t.Errorf("%d calls came of one turn", made)
	}
}

// counter is a model that counts tokens with the key of the moment.
type counter struct {
	key   func(context.Context) (string, error)
	asked *[]string
}

func (c *counter) About() runtime.About { return runtime.About{Window: 1000} }

func (c *counter) CountTokens(ctx context.Context, _ *runtime.Request) (int, error) {
	key, err := c.key(ctx)
	if err == nil {
		*c.asked = append(*c.asked, key)
	}
	return 10, err
}

func (c *counter) Generate(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	_, err := c.key(ctx)
	return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{Text: "x"}, err) }
}

// A key that was replaced or deleted is not used to count, either.
func TestADeletedKeyDoesNotCount(t *testing.T) {
	var asked []string
	v := open(t, &venue.Options{
		Providers: runtime.Providers{"counter": func(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
			return &counter{func(ctx context.Context) (string, error) { return cfg.Secret(ctx, "OPENAI") }, &asked}, nil
		}},
		Config: parse(t, `
user: alice
models:
  default: {provider: counter, key: secret:OPENAI}
agents:
  - {id: carol, caps: []}
`),
	})
	alice := user(t, v, "alice")
	setSecret(t, alice, "OPENAI", "old key")
	carol := agentOf(t, alice, "carol")
	say := func(session string) error {
		asked = nil
		_, err := turnIn(t.Context(), carol, session, strings.Repeat("hello ", 800))
		return err
	}
	if err := say("a"); err != nil || len(asked) == 0 || asked[0] != "old key" {
		t.Fatalf("it counts by %q, %v", asked, err)
	}
	setSecret(t, alice, "OPENAI", "new key")
	if err := say("b"); err != nil || len(asked) == 0 || asked[0] != "new key" {
		t.Errorf("with a new key it counts by %q, %v", asked, err)
	}
	invoke(t, alice, "secret:delete", `{"name":"OPENAI"}`)
	if err := say("c"); err == nil || len(asked) > 0 {
		t.Errorf("without a key it counts by %q, %v", asked, err)
	}
}

// What an agent was refused is told to its owner, and not to whoever gave it a
// task, as if that one had been refused it.
func TestADenialIsToldToWhomItConcerns(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	kid := spec("kid", "", `[{"with":"w/payroll/2026/","can":"crud/read"}]`)
	kid.Authority = agents.AuthorityOwn
	kid.Context = []agents.ContextEntry{{Op: "covia:read", Input: json.RawMessage(`{"path":"w/board/minutes"}`), Required: true}}
	create(t, alice, kid)
	asker := create(t, alice, spec("asker", "", `[{"with":"g/kid","can":"agent/request"},{"with":"j/","can":"crud/read"}]`))
	done := attempt(t, asker, p, "agent_request", `{"agentId":"kid","input":"x"}`)
	if strings.Contains(done.Result, "payroll") || strings.Contains(done.Result, "minutes") || done.Outcome != runtime.ToolFailed {
		t.Errorf("the asker, who may read nothing, is told: %s %s", done.Outcome, done.Result)
	}
	absent := spec("absent", "", `[{"with":"w/","can":"crud/read"}]`)
	absent.Authority = agents.AuthorityOwn
	absent.Context = []agents.ContextEntry{{Path: "w/board/minutes", Required: true}}
	create(t, alice, absent)
	other := create(t, alice, spec("other", "", `[{"with":"g/absent","can":"agent/request"}]`))
	if done := attempt(t, other, p, "agent_request", `{"agentId":"absent","input":"x"}`); strings.Contains(done.Result, "minutes") || done.Outcome != runtime.ToolFailed {
		t.Errorf("the asker is told what the other requires: %s %s", done.Outcome, done.Result)
	}
	_, err := alice.Invoke(t.Context(), "agent:request", map[string]string{"agentId": "kid", "input": "x"})
	if err == nil || !strings.Contains(err.Error(), "w/board/minutes") {
		t.Errorf("the owner is told %v", err)
	}
}

// What a server names does not make a trace as long as the server likes.
func TestNamesInATraceAreBounded(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	n := 0
	m := runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return func(yield func(runtime.Chunk, error) bool) {
			if n++; n > 1 {
				yield(runtime.Chunk{Text: "x", Finish: strings.Repeat("f", 200_000), Model: strings.Repeat("m", 200_000)}, nil)
				return
			}
			_ = yield(runtime.Chunk{Call: &runtime.CallDelta{ID: strings.Repeat("c", 200_000), Name: "covia_read", Arguments: `{"path":"w/x"}`}}, nil)
		}
	})
	v := open(t, &venue.Options{
		Models:    map[string]runtime.Model{"default": m},
		Telemetry: telemetry.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))},
	})
	chat(t, create(t, user(t, v, "alice"), spec("carol", "", `[{"with":"w/","can":"crud"}]`)), "go")
	for _, span := range kept.GetSpans() {
		for _, a := range span.Attributes {
			if n := len(a.Value.String()); n > 1<<10 {
				t.Errorf("span %s: %s has %d bytes", span.Name, a.Key, n)
			}
		}
	}
}
