package venue_test

import (
	"errors"
	"testing"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/approvals"
	"usher/tools/fault"
)

// A turn that waits for an agent of another principal rests, and goes on with it.
func TestApprovalOfAnIndependentAgentThatIsAsked(t *testing.T) {
	d := newDesk(t, "", false)
	s := spec("carol", "", `[{"with":"w/","can":"crud","ask":true}]`)
	s.Identity = agents.IdentityOwn
	create(t, d.alice, s)
	b := spec("boss", "", `null`)
	b.Tools = []string{"agent:request"}
	boss := create(t, d.alice, b)
	d.model.Ask("agent_request", `{"agentId":"carol","input":"go"}`)
	d.model.Ask("covia_write", `{"path":"w/kid","value":1}`)
	_, err := turnIn(t.Context(), boss, "main", "go")
	if _, ok := errors.AsType[*runtime.RestError](err); !ok {
		t.Fatalf("the turn of boss ends with %v, want that it waits", err)
	}
	req := d.only(t)
	if n := len(d.v.LiveRuns()); n != 0 {
		t.Errorf("%d runs execute while all wait", n)
	}
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
	goesOn(t, d.v, d.alice, err)
	if now := d.show(t, req.ID); now.Status != approvals.Used {
		t.Errorf("the request is %s", now.Status)
	}
	_, err = turnIn(t.Context(), boss, "main", "and now?")
	if err != nil {
		t.Errorf("boss is left with %v", err)
	}
}

// What an agent with an identity of its own asks for is of another principal than what
// it works on: they wait for each other all the same.
func TestApprovalBelowAnIndependentAgentThatWaits(t *testing.T) {
	d := newDesk(t, "", false)
	s := spec("carol", "", `null`)
	s.Identity, s.Tools = agents.IdentityOwn, []string{"agent:*"}
	carol := create(t, d.alice, s)
	if done := attempt(t, carol, d.model, "agent_create", `{"agentId":"kid","config":{"tools":["covia:*"],"caps":[{"with":"w/","can":"crud","ask":true}]}}`); done.Outcome != runtime.ToolOK {
		t.Fatal(done.Result)
	}
	d.model.Ask("agent_request", `{"agentId":"kid","input":"go"}`)
	d.model.Ask("covia_write", `{"path":"w/kid","value":1}`)
	_, err := turnIn(t.Context(), carol, "main", "go")
	if fault.Of(err) != fault.Waiting {
		t.Fatalf("the turn of carol ends with %v, want that it waits", err)
	}
	if n := len(d.v.LiveRuns()); n != 0 {
		t.Errorf("%d runs execute while all wait", n)
	}
	req := d.only(t)
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
	goesOn(t, d.v, d.alice, err)
	if now := d.show(t, req.ID); now.Status != approvals.Used {
		t.Errorf("the request is %s", now.Status)
	}
	if _, err := turnIn(t.Context(), carol, "main", "and now?"); err != nil {
		t.Errorf("carol is left with %v", err)
	}
}
