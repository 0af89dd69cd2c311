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
	"usher/venue"
)

// A secret that is set or taken out at any depth of a job is in the record of
// none of the jobs around it, which crud/read on j/ shows to agents without
// secret/decrypt. Whoever waits for the job gets it all the same.
func TestNoJobKeepsASecretOfAnyDepth(t *testing.T) {
	const (
		extract = `{"op":"secret:extract","input":{"name":["const","OPENAI"]}}`
		within  = `{"operation":"secret:extract","input":{"name":"OPENAI"}}`
	)
	flow := func(steps, result string) string {
		return `{"operation":{"adapter":"orchestrator","steps":[` + steps + `],"result":` + result + `}}`
	}
	for name, tc := range map[string]struct {
		start string
		gives bool // the value, to whoever waits
	}{
		"set within run":             {start: `{"operation":"grid:run","input":{"operation":"secret:set","input":{"name":"OPENAI","value":"` + value + `"}}}`},
		"set within run, as a text":  {start: `{"operation":"grid:run","input":"{\"operation\":\"secret:set\",\"input\":\"{\\\"name\\\":\\\"OPENAI\\\",\\\"value\\\":\\\"` + value + `\\\"}\"}"}`},
		"set by a name that is not":  {start: `{"operation":"grid:run","input":{"operation":"grid:run","input":{"operation":"secret:sett","input":{"value":"` + value + `"}}}}`},
		"set with an error":          {start: `{"operation":"grid:run","input":{"operation":"secret:set","input":{"name":"OPENAI","value":"x","` + value + `":1}}}`},
		"extract within run":         {start: `{"operation":"grid:run","input":` + within + `}`, gives: true},
		"the next step":              {start: `{"operation":"o/use"}`},
		"the result of a run":        {start: `{"operation":"o/give"}`, gives: true},
		"a step that runs":           {start: `{"operation":"o/wrapped"}`},
		"a step that names it":       {start: `{"operation":"o/named","input":{"op":"secret:set","value":"` + value + `"}}`},
		"a step found on the way":    {start: `{"operation":"o/found","input":{"value":"` + value + `"}}`},
		"a job that the next begins": {start: `{"operation":"o/passed"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := new(puppet)
			dir := t.TempDir()
			v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": p}})
			if err != nil {
				t.Fatal(err)
			}
			alice := user(t, v, "alice")
			setSecret(t, alice, "OPENAI", value)
			for path, doc := range map[string]string{
				"w/which":   `"secret:set"`,
				"o/use":     flow(extract+`,{"op":"covia:read","input":{"path":["const","w/x"],"note":[0,"value"]}}`, `{"done":["const",true]}`),
				"o/give":    flow(extract, `[0]`),
				"o/wrapped": flow(`{"op":"grid:run","input":{"operation":["const","secret:extract"],"input":["const",{"name":"OPENAI"}]}}`, `{"done":["const",true]}`),
				"o/named":   flow(`{"op":"grid:run","input":{"operation":["input","op"],"input":{"name":["const","OPENAI"],"value":["input","value"]}}}`, `{"done":["const",true]}`),
				"o/found": flow(`{"op":"covia:read","input":{"path":["const","w/which"]}},`+
					`{"op":"grid:run","input":{"operation":[0,"value"],"input":{"name":["const","OPENAI"],"value":["input","value"]}}}`, `{"done":["const",true]}`),
				"o/passed": flow(extract+`,{"op":"grid:run","input":{"operation":["const","json:merge"],"input":{"values":["const",[{}]],"note":[0,"value"]}}}`, `{"done":["const",true]}`),
			} {
				invoke(t, alice, "covia:write", `{"path":"`+path+`","value":`+doc+`}`)
			}
			spy := create(t, alice, spec("spy", "", `[{"with":"j/","can":"crud/read"}]`))
			var started struct{ ID string }
			if err := json.Unmarshal([]byte(invoke(t, alice, "grid:invoke", tc.start)), &started); err != nil {
				t.Fatal(err)
			}
			_, _ = alice.Invoke(t.Context(), "grid:jobResult", json.RawMessage(`{"id":"`+started.ID+`","timeout":5000}`))
			for _, tool := range []string{"grid_jobStatus", "grid_jobResult"} {
				if done := attempt(t, spy, p, tool, `{"id":"`+started.ID+`"}`); strings.Contains(done.Result, value) {
					t.Errorf("an agent without secret/decrypt is told by %s: %s", tool, done.Result)
				}
			}
			job, err := alice.Job(t.Context(), started.ID)
			if err != nil || !job.Sealed {
				t.Errorf("the job is not sealed: %+v, %v", job, err)
			}
			if out, _ := alice.Invoke(t.Context(), "grid:run", json.RawMessage(tc.start)); strings.Contains(string(out), value) != tc.gives {
				t.Errorf("who waits is given %s", out)
			}
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			if found := inFiles(t, dir, value); found != nil {
				t.Errorf("the value stands in %v", found)
			}
		})
	}
}

// Jobs with nothing sealed in them keep their records, also beside one that has.
func TestOtherJobsKeepTheirRecords(t *testing.T) {
	v := open(t, nil)
	alice := user(t, v, "alice")
	setSecret(t, alice, "A", value)
	invoke(t, alice, "covia:write", `{"path":"o/plain","value":{"operation":{"adapter":"orchestrator","steps":[{"op":"grid:run","input":{"operation":["const","covia:read"],"input":{"path":["input","path"]}}}]}}}`)
	invoke(t, alice, "grid:run", `{"operation":"secret:extract","input":{"name":"A"}}`)
	var started struct{ ID string }
	if err := json.Unmarshal([]byte(invoke(t, alice, "grid:invoke", `{"operation":"o/plain","input":{"path":"w/kept"}}`)), &started); err != nil {
		t.Fatal(err)
	}
	invoke(t, alice, "grid:jobResult", `{"id":"`+started.ID+`","timeout":5000}`)
	job, err := alice.Job(t.Context(), started.ID)
	if err != nil || job.Sealed || !strings.Contains(string(job.Input), "w/kept") || !strings.Contains(string(job.Output), "exists") ||
		len(job.Steps) != 1 || !strings.Contains(string(job.Steps[0].Input), "w/kept") {
		t.Errorf("the record is %+v, %v", job, err)
	}
}

// A task in which the agent takes a secret out is sealed, and answers whoever
// waits for it.
func TestATaskThatTakesASecretOutIsSealed(t *testing.T) {
	p := new(puppet)
	v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": p}})
	alice := user(t, v, "alice")
	setSecret(t, alice, "A", value)
	s := spec("carol", "", `[{"with":"s/","can":"secret"}]`)
	s.Tools = []string{"secret:*"}
	create(t, alice, s)
	p.ask("secret_extract", `{"name":"A"}`)
	var answer struct {
		ID     string
		Output string
	}
	if err := json.Unmarshal([]byte(invoke(t, alice, "agent:request", `{"agentId":"carol","input":"take it out"}`)), &answer); err != nil {
		t.Fatal(err)
	}
	job, err := alice.Job(t.Context(), answer.ID)
	if err != nil || !job.Sealed || string(job.Output) != `"[redacted]"` || string(job.Input) != `"[redacted]"` || answer.Output == "[redacted]" {
		t.Errorf("the record is %+v, %v; the answer %q", job, err, answer.Output)
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
		"within another operation": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.ask("grid_run", `{"operation":"secret:extract","input":{"name":"A"}}`)
			p.ask("grid_run", `{"operation":"secret:set","input":"{\"name\":\"A\",\"value\":\"`+value+`\"}"}`)
			p.ask("covia_read", `{"path":"w/plain","note":"`+value+`"}`)
			chat(t, carol, "go")
			chat(t, carol, "go on")
		},
		"the system message": func(t *testing.T, alice *venue.User, carol *venue.Agent, _ *puppet) {
			invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"context":[{"op":"secret:extract","input":{"name":"A"}}]}}`)
			chat(t, carol, "go")
		},
		"a summary's request": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.ask("secret_extract", `{"name":"A"}`)
			p.ask("covia_read", `{"path":"w/plain"}`)
			chat(t, carol, "go")
			for range 3 {
				chat(t, carol, strings.Repeat("hello ", 1500))
			}
		},
		"a tool taken away": func(t *testing.T, alice *venue.User, carol *venue.Agent, p *puppet) {
			p.ask("secret_extract", `{"name":"A"}`)
			p.ask("covia_read", `{"path":"w/plain"}`)
			chat(t, carol, "go")
			invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"tools":["covia:*"]}}`)
			chat(t, carol, "go on")
		},
		"said again in a later turn": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.ask("secret_extract", `{"name":"A"}`) // and the puppet says what came
			chat(t, carol, "go")
			chat(t, carol, "go on")
		},
		"stored by a tool taken away": func(t *testing.T, alice *venue.User, carol *venue.Agent, p *puppet) {
			p.ask("secret_set", `{"name":"A","value":"`+value+`"}`)
			chat(t, carol, "go")
			invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"tools":["covia:*"]}}`)
			chat(t, carol, "go on")
		},
		"a call that was stopped": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.ask("secret_set", `{"name":"A","value":"`+value+`"}`)
			for ev, err := range carol.Chat(t.Context(), "go") {
				if _, asked := ev.(runtime.Answered); asked || err != nil {
					break
				}
			}
			chat(t, carol, "go on")
		},
		"a call that was stopped, and its tool taken away": func(t *testing.T, alice *venue.User, carol *venue.Agent, p *puppet) {
			p.ask("secret_set", `{"name":"A","value":"`+value+`"}`)
			for ev, err := range carol.Chat(t.Context(), "go") {
				if _, asked := ev.(runtime.Answered); asked || err != nil {
					break
				}
			}
			invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"tools":["covia:*"]}}`)
			chat(t, carol, "go on")
		},
		"a summary of a call that was stopped": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.ask("secret_set", `{"name":"A","value":"`+value+`"}`)
			for ev, err := range carol.Chat(t.Context(), "go") {
				if _, asked := ev.(runtime.Answered); asked || err != nil {
					break
				}
			}
			for range 3 {
				chat(t, carol, strings.Repeat("hello ", 1500))
			}
		},
		"stored by the context, and said": func(t *testing.T, alice *venue.User, carol *venue.Agent, _ *puppet) {
			invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"context":[{"op":"secret:set","input":{"name":"A","value":"`+value+`"}},{"op":"secret:list"}]}}`)
			chat(t, carol, "is it "+value+"?")
		},
		"an error of the input": func(t *testing.T, _ *venue.User, carol *venue.Agent, p *puppet) {
			p.ask("secret_set", `{"name":"A","value":"x","`+value+`":1}`)
			p.ask("covia_read", `{"path":"w/plain"}`)
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
			m := runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
				return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{Text: `"` + value + `"`}, nil) }
			})
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
