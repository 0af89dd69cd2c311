package venue_test

import (
	"encoding/json"
	"errors"
	"testing"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue/runs"
)

// What an agent wrote answers for nobody, whoever runs it.
func TestAttackAPlantedProgramApproves(t *testing.T) {
	d := newDesk(t, "", false)
	s := spec("mallory", "", `null`)
	s.Tools = []string{"covia:*"}
	mallory := create(t, d.alice, s)
	req := d.ask(t, "w/refunds/1")
	for path, program := range map[string]string{
		"o/report": `{"operation":{"adapter":"orchestrator","steps":[{"op":"approval:approve","input":{"id":["const","` + req.ID + `"]}}]}}`,
		"o/name":   `{"operation":{"adapter":"approval:approve"}}`,
	} {
		if done := attempt(t, mallory, d.model, "covia_write", `{"path":"`+path+`","value":`+program+`}`); done.Outcome != runtime.ToolOK {
			t.Fatalf("plant %s: %s", path, done.Result)
		}
		if _, err := d.alice.Invoke(t.Context(), path, map[string]string{"id": req.ID}); err == nil {
			t.Errorf("%s answers for alice", path)
		}
	}
	if now := d.show(t, req.ID); now.Status != approvals.Pending {
		t.Errorf("the request is %s", now.Status)
	}
}

// An approval of a stored program is for the program as it was when it was asked about.
func TestAttackAProgramIsRewrittenAfterItsApproval(t *testing.T) {
	for name, programs := range map[string][2]string{
		"an orchestration": {
			`{"operation":{"adapter":"orchestrator","steps":[{"op":"covia:read","input":{"path":["const","w/a"]}}]}}`,
			`{"operation":{"adapter":"orchestrator","steps":[{"op":"covia:delete","input":{"path":["const","w/a"]}}]}}`,
		},
		"a name": {`{"operation":{"adapter":"covia:read"}}`, `{"operation":{"adapter":"covia:delete"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "", true) // runs go on when this says so
			invoke(t, d.alice, "covia:write", `{"path":"w/a","value":1}`)
			invoke(t, d.alice, "covia:write", `{"path":"o/x","value":`+programs[0]+`}`)
			s := spec("mallory", "", `[{"with":"w/","can":"crud","ask":true},{"with":"o/","can":"invoke","ask":true},{"with":"o/","can":"crud"},{"with":"o/other","can":"invoke"}]`)
			s.Tools = []string{"grid:run", "covia:write"}
			mallory := create(t, d.alice, s)
			d.model.Ask("grid_run", `{"operation":"o/x","input":{"path":"w/a"}}`)
			_, err := turnIn(t.Context(), mallory, "main", "go")
			rest, ok := errors.AsType[*runtime.RestError](err)
			if !ok || len(rest.Waits) != 1 || rest.Waits[0].Approval == "" {
				t.Fatalf("the turn ends with %v, want that it waits for a person", err)
			}
			req := d.show(t, rest.Waits[0].Approval)
			d.model.Ask("covia_write", `{"path":"o/x","value":`+programs[1]+`}`)
			if _, err := turnIn(t.Context(), mallory, "other", "go"); err != nil {
				t.Fatal(err)
			}
			if req.Operation == "v/ops/grid/run" {
				t.Fatal("the request is for the job")
			}
			invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
			run, err := d.alice.Resume(t.Context(), req.Run)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Wait(t.Context()); fault.Of(err) != fault.Waiting {
				t.Errorf("the turn that goes on ends with %v", err)
			}
			if now := d.show(t, req.ID); now.Status != approvals.Approved {
				t.Errorf("the approval of the program as it was is %s", now.Status)
			}
			if rec, err := d.alice.Run(t.Context(), req.Run); err != nil || rec.Status != runs.Waiting || rec.Waits[0] == req.ID {
				t.Errorf("the run is %+v, %v; want that it asks anew", rec, err)
			}
			if got := read(t, d.alice, "w/a"); got != `{"exists":true,"value":1}` {
				t.Errorf("w/a reads %s", got)
			}
		})
	}
}

// Whose agent has a child asks for the child too, however far below and as whomever
// those act; what waits for it rests meanwhile.
func TestApprovalBelowAnIndependentAgent(t *testing.T) {
	d := newDesk(t, "", false)
	s := spec("carol", "", `[{"with":"w/","can":"crud"},{"with":"g/","can":"agent"}]`)
	s.Identity = agents.IdentityOwn
	carol := create(t, d.alice, s)
	if done := attempt(t, carol, d.model, "agent_create", `{"agentId":"kid","config":{"tools":["covia:*"],"caps":[{"with":"w/","can":"crud","ask":true}]}}`); done.Outcome != runtime.ToolOK {
		t.Fatalf("create: %s", done.Result)
	}
	d.model.Ask("agent_request", `{"agentId":"kid","input":"go"}`)
	d.model.Ask("covia_write", `{"path":"w/kid","value":1}`)
	_, err := turnIn(t.Context(), carol, "main", "go")
	if _, ok := errors.AsType[*runtime.RestError](err); !ok {
		t.Fatalf("the turn of carol ends with %v, want that it waits", err)
	}
	req := d.only(t)
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
	for _, r := range d.v.LiveRuns() {
		_, _ = r.Wait(t.Context())
	}
	if now := d.show(t, req.ID); now.Status != approvals.Used {
		t.Errorf("the request is %s", now.Status)
	}
}

// What a schedule asks for is answered for that firing, which goes on with it: no
// other firing uses the answer.
func TestApprovalOfAScheduledCall(t *testing.T) {
	d := newDesk(t, "", false)
	s := spec("clerk", "", `[{"with":"w/","can":"crud","ask":true},{"with":"schedules/","can":"schedule"}]`)
	s.Tools = []string{"scheduler:*"}
	clerk := create(t, d.alice, s)
	if done := attempt(t, clerk, d.model, "scheduler_schedule", `{"name":"pay","operation":"covia:write","input":{"path":"w/a","value":1},"cron":"0 0 1 1 *"}`); done.Outcome != runtime.ToolOK {
		t.Fatalf("schedule: %s", done.Result)
	}
	invoke(t, d.alice, "scheduler:trigger", `{"handle":"pay"}`)
	for _, r := range d.v.LiveRuns() {
		_, _ = r.Wait(t.Context())
	}
	req := d.only(t)
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
	for _, r := range d.v.LiveRuns() {
		_, _ = r.Wait(t.Context())
	}
	if now := d.show(t, req.ID); now.Status != approvals.Used {
		t.Errorf("the request is %s", now.Status)
	}
	if rec, err := d.alice.Run(t.Context(), req.Run); err != nil || rec.Status != runs.Complete {
		t.Errorf("the run is %s, waits for %v, %v", rec.Status, rec.Waits, err)
	}
}

// only is the one request that waits for alice.
func (d *desk) only(t *testing.T) approvals.Request {
	t.Helper()
	var list approvals.Listing
	if err := json.Unmarshal([]byte(invoke(t, d.alice, "approval:list", `{}`)), &list); err != nil || len(list.Requests) != 1 {
		t.Fatalf("the requests are %+v, %v", list, err)
	}
	return list.Requests[0]
}
