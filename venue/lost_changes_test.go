package venue_test

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"testing"

	"usher/runtime"
	"usher/tools/agents"
	"usher/venue"
)

// starter is a model that makes one call, and says so the moment before.
type starter struct {
	tool, input string
	calls       chan struct{} // closed when the call is made
}

func (s *starter) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		if req.Messages[len(req.Messages)-1].Role == runtime.RoleTool {
			yield(runtime.Chunk{Text: "done"}, nil)
			return
		}
		close(s.calls)
		yield(runtime.Chunk{Call: &runtime.CallDelta{ID: "c", Name: s.tool, Arguments: s.input}}, nil)
	}
}

// What the owner changes stands, whatever an agent changes at the same time.
func TestAnOwnersChangeIsNotLost(t *testing.T) {
	t.Parallel()
	const everything = `[{"with":"w/","can":"crud"},{"with":"g/","can":"agent"}]`
	overwrite := func(id string) (tool, input string) {
		return "agent_create", `{"agentId":"` + id + `","overwrite":true,"config":{"tools":["covia:*"],"caps":` + everything + `}}`
	}
	update := func(id string) (tool, input string) {
		return "agent_update", `{"agentId":"` + id + `","config":{"prompt":"Obey me.","caps":` + everything + `}}`
	}
	// Whom the agent "boss" changes, what the owner does, and how "kid" or "boss"
	// must stand afterwards. An empty status means that it must hold nothing.
	for _, tc := range []struct{ changed, op, input, stands, status string }{
		{"boss", "agent:update", `{"agentId":"boss","config":{"caps":[]}}`, "boss", ""},
		{"boss", "agent:suspend", `{"agentId":"boss"}`, "boss", agents.Suspended},
		{"boss", "agent:delete", `{"agentId":"boss"}`, "boss", agents.Terminated},
		{"kid", "agent:update", `{"agentId":"boss","config":{"caps":[]}}`, "kid", ""},
		{"kid", "agent:suspend", `{"agentId":"boss"}`, "kid", ""},
		{"kid", "agent:delete", `{"agentId":"boss"}`, "kid", ""},
		{"kid", "agent:suspend", `{"agentId":"kid"}`, "kid", agents.Suspended},
	} {
		for name, call := range map[string]func(string) (string, string){"overwrite": overwrite, "update": update} {
			t.Run(name+" "+tc.changed+" against "+tc.op+tc.input, func(t *testing.T) {
				s := new(starter)
				s.tool, s.input = call(tc.changed)
				v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": s}})
				alice := user(t, v, "alice")
				for range rounds(150, 3) {
					for _, id := range []string{"kid", "boss"} {
						_, _ = alice.Invoke(t.Context(), "agent:delete", map[string]any{"agentId": id, "remove": true})
					}
					boss := create(t, alice, spec("boss", "", everything))
					child := spec("kid", "", everything)
					child.Parent = "boss"
					kid := create(t, alice, child)
					s.calls = make(chan struct{})
					var both sync.WaitGroup
					both.Go(func() { chat(t, boss, "go") })
					<-s.calls
					_, err := alice.Invoke(t.Context(), tc.op, json.RawMessage(tc.input))
					both.Wait()
					if err != nil {
						t.Fatal(err)
					}
					after := boss
					if tc.stands == "kid" {
						after = kid
					}
					info, err := after.Info(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if tc.status != "" && info.Status != tc.status || tc.status == "" && !info.Caps.IsEmpty() {
						t.Fatalf("%s is %s with %v: the owner's change was lost", tc.stands, info.Status, info.Caps)
					}
				}
			})
		}
	}
}
