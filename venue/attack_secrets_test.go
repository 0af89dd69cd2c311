package venue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/tools"
	"usher/venue"
	"usher/venue/venuetest"
)

// Secrets answer direct calls only: no job, no step, and whatever leads to one,
// is given a secret, and what was sent to keep one that way is recorded nowhere.
func TestSecretsAnswerDirectCallsOnly(t *testing.T) {
	const (
		extract = `{"op":"secret:extract","input":{"name":["const","OPENAI"]}}`
		within  = `{"operation":"secret:extract","input":{"name":"OPENAI"}}`
	)
	flow := func(steps, result string) string {
		return `{"operation":{"adapter":"orchestrator","steps":[` + steps + `],"result":` + result + `}}`
	}
	dir := t.TempDir()
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	alice := user(t, v, "alice")
	setSecret(t, alice, "OPENAI", value)
	for path, doc := range map[string]string{
		"o/use":     flow(extract+`,{"op":"covia:write","input":{"path":["const","w/x"],"value":[0,"value"]}}`, `{"done":["const",true]}`),
		"o/give":    flow(extract, `[0]`),
		"o/wrapped": flow(`{"op":"grid:run","input":{"operation":["const","secret:extract"],"input":["const",{"name":"OPENAI"}]}}`, `[0]`),
	} {
		invoke(t, alice, "covia:write", `{"path":"`+path+`","value":`+doc+`}`)
	}
	for name, start := range map[string]string{
		"set in a job":              `{"operation":"secret:set","input":{"name":"OTHER","value":"` + value + `"}}`,
		"set in a job, as a text":   `{"operation":"secret:set","input":"{\"name\":\"OTHER\",\"value\":\"` + value + `\"}"}`,
		"set within run":            `{"operation":"grid:run","input":{"operation":"secret:set","input":{"name":"OTHER","value":"` + value + `"}}}`,
		"set within run, as a text": `{"operation":"grid:run","input":"{\"operation\":\"secret:set\",\"input\":\"{\\\"name\\\":\\\"OTHER\\\",\\\"value\\\":\\\"` + value + `\\\"}\"}"}`,
		"set by its path":           `{"operation":"v/ops/secret/set","input":{"name":"OTHER","value":"` + value + `"}}`,
		"extract in a job":          within,
		"extract within run":        `{"operation":"grid:run","input":` + within + `}`,
		"a step":                    `{"operation":"o/give"}`,
		"a step and the next":       `{"operation":"o/use"}`,
		"a step that runs it":       `{"operation":"o/wrapped"}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, op := range []string{"grid:run", "grid:invoke"} {
				out, err := alice.Invoke(t.Context(), op, json.RawMessage(start))
				if err == nil {
					var started struct{ ID string }
					if err := json.Unmarshal(out, &started); err != nil {
						t.Fatal(err)
					}
					out, err = alice.Invoke(t.Context(), "grid:jobResult", json.RawMessage(`{"id":"`+started.ID+`","timeout":60000}`))
				}
				if err == nil || !strings.Contains(err.Error(), tools.ErrDirect.Error()) {
					t.Errorf("%s answers %s, %v; want a refusal", op, out, err)
				}
			}
			if list := invoke(t, alice, "secret:list", `{}`); strings.Contains(list, "OTHER") {
				t.Errorf("it was kept: %s", list)
			}
		})
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if found := inFiles(t, dir, value); found != nil {
		t.Errorf("the value stands in %v", found)
	}
}

// tight is a model whose window is small, and that answers by another.
type tight struct {
	runtime.Model
	window int
}

func (m *tight) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	if strings.HasPrefix(req.System, "You keep the notes") {
		return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{Text: "It is " + value}, nil) }
	}
	return m.Model.Generate(ctx, req)
}

func (m *tight) About() runtime.About { return runtime.About{Window: m.window} }

// What is left out of the messages of a trace stands in no other part of it.
func TestATraceHoldsNoSecretByOtherWays(t *testing.T) {
	for name, attack := range map[string]func(t *testing.T, alice *venue.User, carol *venue.Agent, p *puppet){
		"a summary's request": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.Ask("secret_extract", `{"name":"A"}`)
			p.Ask("covia_read", `{"path":"w/plain"}`)
			chat(t, carol, "go")
			for range 3 {
				chat(t, carol, strings.Repeat("hello ", 1500))
			}
		},
		"a tool taken away": func(t *testing.T, alice *venue.User, carol *venue.Agent, p *puppet) {
			p.Ask("secret_extract", `{"name":"A"}`)
			p.Ask("covia_read", `{"path":"w/plain"}`)
			chat(t, carol, "go")
			invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"tools":["covia:*"]}}`)
			chat(t, carol, "go on")
		},
		"said again in a later turn": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.Ask("secret_extract", `{"name":"A"}`) // and the puppet says what came
			chat(t, carol, "go")
			chat(t, carol, "go on")
		},
		"stored by a tool taken away": func(t *testing.T, alice *venue.User, carol *venue.Agent, p *puppet) {
			p.Ask("secret_set", `{"name":"A","value":"`+value+`"}`)
			chat(t, carol, "go")
			invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"tools":["covia:*"]}}`)
			chat(t, carol, "go on")
		},
		"a call that was stopped": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.Ask("secret_set", `{"name":"A","value":"`+value+`"}`)
			for ev, err := range carol.Chat(t.Context(), "go") {
				if _, asked := ev.(runtime.ModelAnswer); asked || err != nil {
					break
				}
			}
			chat(t, carol, "go on")
		},
		"a call that was stopped, and its tool taken away": func(t *testing.T, alice *venue.User, carol *venue.Agent, p *puppet) {
			p.Ask("secret_set", `{"name":"A","value":"`+value+`"}`)
			for ev, err := range carol.Chat(t.Context(), "go") {
				if _, asked := ev.(runtime.ModelAnswer); asked || err != nil {
					break
				}
			}
			invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"tools":["covia:*"]}}`)
			chat(t, carol, "go on")
		},
		"a summary of a call that was stopped": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.Ask("secret_set", `{"name":"A","value":"`+value+`"}`)
			for ev, err := range carol.Chat(t.Context(), "go") {
				if _, asked := ev.(runtime.ModelAnswer); asked || err != nil {
					break
				}
			}
			for range 3 {
				chat(t, carol, strings.Repeat("hello ", 1500))
			}
		},
		"an error of the input": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.Ask("secret_set", `{"name":"A","value":"x","`+value+`":1}`)
			p.Ask("covia_read", `{"path":"w/plain"}`)
			chat(t, carol, "go")
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept := tracetest.NewInMemoryExporter()
			p := new(puppet)
			v := open(t, &venue.Options{
				Models:    map[string]runtime.Model{"default": &tight{p, 6000}},
				Telemetry: telemetry.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)), Content: true},
			})
			s := spec("carol", "", `[{"with":"","can":"*"}]`)
			s.Tools = []string{"secret:*", "covia:*", "grid:*"}
			alice := user(t, v, "alice")
			setSecret(t, alice, "A", value)
			kept.Reset()
			attack(t, alice, create(t, alice, s), p)
			content := false
			for _, span := range kept.GetSpans() {
				for _, a := range span.Attributes {
					content = content || strings.Contains(a.Value.String(), "[redacted]")
					if strings.Contains(a.Value.String(), value) {
						t.Errorf("span %s has the value in %s", span.Name, a.Key)
					}
				}
				if strings.Contains(fmt.Sprint(span.Events, span.Status), value) {
					t.Errorf("span %s has the value in %v", span.Name, span.Status)
				}
			}
			if !content {
				t.Error("nothing was redacted: was anything recorded?")
			}
		})
	}
}

// The log says that a turn failed, and quotes nothing unless content is asked for.
func TestTheLogQuotesNoAnswers(t *testing.T) {
	for _, content := range []bool{false, true} {
		t.Run(fmt.Sprint("content ", content), func(t *testing.T) {
			var out strings.Builder
			m := venuetest.Says(`"` + value + `"`)
			v := open(t, &venue.Options{
				Models: map[string]runtime.Model{"default": m}, Logger: slog.New(slog.NewTextHandler(&out, nil)),
				Telemetry: telemetry.Options{Content: content},
			})
			s := spec("carol", "", `[]`)
			s.Output = json.RawMessage(`{"type":"string","pattern":"^x$"}`)
			if _, err := turnIn(t.Context(), create(t, user(t, v, "alice"), s), "main", "go"); err == nil {
				t.Fatal("the answer fits")
			}
			if !strings.Contains(out.String(), "turn failed") || !strings.Contains(out.String(), "failure=output") {
				t.Errorf("the log does not say that the turn failed: %s", out.String())
			}
			if strings.Contains(out.String(), value) != content {
				t.Errorf("the log is %s", out.String())
			}
		})
	}
}
