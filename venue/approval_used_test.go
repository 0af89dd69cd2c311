package venue_test

import (
	"encoding/json"
	"errors"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue"
)

// An approval is used up with the decision on its call, whichever way the call is made:
// a second one is asked about anew.
func TestAnApprovalIsUsedUpWhereverItIsUsed(t *testing.T) {
	const write = `{"path":"w/refunds/1","value":7}`
	for name, call := range map[string][2]string{
		"by the turn":       {"covia_write", write},
		"within its call":   {"grid_run", `{"operation":"covia:write","input":` + write + `}`},
		"by a step":         {"grid_run", `{"operation":"o/pay","input":{}}`},
		"in the background": {"grid_invoke", `{"operation":"covia:write","input":` + write + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "", false)
			invoke(t, d.alice, "covia:write", `{"path":"o/pay","value":{"operation":{"adapter":"orchestrator","steps":[{"op":"covia:write","input":{"path":["const","w/refunds/1"],"value":["const",7]}}]}}}`)
			s := spec("clerk", "", `[{"with":"w/refunds/","can":"crud/write","ask":true},{"with":"","can":"invoke"},{"with":"o/","can":"invoke"}]`)
			s.Tools = []string{"covia:write", "grid:*"}
			clerk := create(t, d.alice, s)
			var ids []string
			for _, session := range []string{"s1", "s2"} {
				d.model.Ask(call[0], call[1])
				_, err := turnIn(t.Context(), clerk, session, "go")
				if _, rests := errors.AsType[*runtime.RestError](err); err != nil && !rests {
					t.Fatal(err)
				}
				for _, r := range d.v.LiveRuns() {
					_, _ = r.Wait(t.Context())
				}
				req := d.only(t)
				ids = append(ids, req.ID)
				invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
				for _, r := range d.v.LiveRuns() {
					if _, err := r.Wait(t.Context()); err != nil && fault.Of(err) != fault.Waiting {
						t.Error(err)
					}
				}
				if now := d.show(t, req.ID); now.Status != approvals.Used {
					t.Errorf("the request is %s", now.Status)
				}
			}
			if ids[0] == ids[1] {
				t.Error("two calls have one request")
			}
		})
	}
}

// An answer is for who asked: another who comes as the same principal, within other bounds,
// is asked about themselves, and takes nothing of it.
func TestAnApprovalIsForWhoAsked(t *testing.T) {
	within := func(list string) (set caps.Set) {
		t.Helper()
		if err := json.Unmarshal([]byte(list), &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	v := open(t, nil)
	alice := user(t, v, "alice")
	one := alice.Narrow(within(`[{"with":"w/pay","can":"crud/write","ask":true}]`))
	other := alice.Narrow(within(`[{"with":"w","can":"crud/write","ask":true}]`))
	pay := func(p *venue.Principal) (approval string, err error) {
		_, err = p.Invoke(t.Context(), "covia:write", json.RawMessage(`{"path":"w/pay/1","value":1}`))
		if wait, ok := errors.AsType[*tools.WaitError](err); ok {
			approval = wait.Approval
		}
		return approval, err
	}
	asked, err := pay(one)
	if asked == "" {
		t.Fatalf("the call ends with %v, want that it waits", err)
	}
	invoke(t, alice, "approval:approve", `{"id":"`+asked+`"}`)
	if id, err := pay(other); id == "" || id == asked {
		t.Errorf("the other's call ends with %v, want that it waits for an answer of its own", err)
	}
	if _, err := pay(one); err != nil {
		t.Errorf("the call that was approved: %v", err)
	}
}
