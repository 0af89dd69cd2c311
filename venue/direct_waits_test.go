package venue_test

import (
	"encoding/json"
	"testing"

	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue/runs"
)

// What a person calls directly and what waits goes on when it need not wait any more,
// though nobody makes the call again.
func TestADirectCallThatWaitsGoesOn(t *testing.T) {
	const program = `{"operation":{"adapter":"orchestrator","steps":[
		{"op":"covia:write","input":{"path":["const","w/steps/1"],"value":["const",1]}},
		{"op":"agent:request","input":{"agentId":["const","bob"],"input":["const","pay"]},"after":[0]},
		{"op":"covia:write","input":{"path":["const","w/steps/2"],"value":["const",2]},"after":[1]}]}}`
	for name, tc := range map[string]struct{ op, input string }{
		"a task":                       {"agent:request", `{"agentId":"bob","input":"pay"}`},
		"an orchestration":             {"o/report", `{}`},
		"a task as a job":              {"grid:run", `{"operation":"agent:request","input":{"agentId":"bob","input":"pay"}}`},
		"an orchestration as a job":    {"grid:run", `{"operation":"o/report","input":{}}`},
		"a job of a job":               {"grid:run", `{"operation":"grid:run","input":{"operation":"agent:request","input":{"agentId":"bob","input":"pay"}}}`},
		"an orchestration in the back": {"grid:invoke", `{"operation":"o/report","input":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "", false)
			invoke(t, d.alice, "covia:write", `{"path":"o/report","value":`+program+`}`)
			d.model.Ask("covia_write", `{"path":"w/refunds/1","value":7}`)
			if _, err := d.alice.Invoke(t.Context(), tc.op, json.RawMessage(tc.input)); tc.op != "grid:invoke" && fault.Of(err) != fault.Waiting && fault.Of(err) != fault.ApprovalRequired {
				t.Fatalf("the call ends with %v, want that it waits", err)
			}
			for _, r := range d.v.LiveRuns() {
				_, _ = r.Wait(t.Context())
			}
			var asked approvals.Listing
			if err := json.Unmarshal([]byte(invoke(t, d.alice, "approval:list", `{}`)), &asked); err != nil || len(asked.Requests) != 1 {
				t.Fatalf("asked is %+v, %v; want one request", asked, err)
			}
			invoke(t, d.alice, "approval:approve", `{"id":"`+asked.Requests[0].ID+`"}`)
			list, _, err := d.alice.Runs(t.Context(), "", 10)
			if err != nil || len(list) == 0 {
				t.Fatalf("runs are %v, %v", list, err)
			}
			for _, r := range list {
				if r = goesOn(t, d.v, d.alice, &tools.WaitError{Run: r.ID}); r.Status != runs.Complete {
					t.Errorf("run %s of %s is %s: %s", r.ID, r.Op, r.Status, r.Error)
				}
			}
		})
	}
}
