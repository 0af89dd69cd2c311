package venue_test

import (
	"encoding/json"
	"testing"

	"usher/runtime"
	"usher/venue"
	"usher/venue/runs"
)

// What runs in the background when a venue is closed goes on when it is opened again: a
// task, the job that asked for it, and an orchestration that has it as a step.
func TestJobsThatRestAtClose(t *testing.T) {
	for name, call := range map[string]struct{ op, input string }{
		"a task":           {"agent:request", `{"agentId":"bob","input":"go"}`},
		"a call of a call": {"grid:run", `{"operation":"agent:request","input":{"agentId":"bob","input":"go"}}`},
		"an orchestration": {"o/two", `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, slow := t.TempDir(), make(stuck)
			v := open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": slow}})
			alice := user(t, v, "alice")
			create(t, alice, spec("bob", "", `[]`))
			invoke(t, alice, "covia:write", `{"path":"o/two","value":{"name":"two","operation":{"adapter":"orchestrator","steps":[
				{"op":"agent:request","input":{"agentId":["const","bob"],"input":["const","go"]}},
				{"op":"covia:write","input":{"path":["const","w/after"],"value":[0,"output"]}}],"result":{"said":[0,"output"]}}}}`)
			id, err := alice.Start(t.Context(), call.op, json.RawMessage(call.input))
			if err != nil {
				t.Fatal(err)
			}
			<-slow
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			v = open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": new(puppet)}})
			alice = user(t, v, "alice")
			for {
				rec, err := alice.Run(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if rec.Over() {
					if rec.Status != runs.Complete {
						t.Errorf("the job is %s: %s", rec.Status, rec.Error)
					}
					return
				}
				for _, r := range v.LiveRuns() {
					_, _ = r.Wait(t.Context())
				}
			}
		})
	}
}
