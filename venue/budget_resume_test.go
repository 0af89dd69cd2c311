package venue_test

import (
	"encoding/json"
	"testing"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/approvals"
	"usher/tools/spend"
	"usher/venue"
	"usher/venue/runs"
)

// A turn that goes on has used of its budgets what it had used before, whether its venue was
// closed meanwhile or not.
func TestTheBudgetOfARunThatGoesOn(t *testing.T) {
	limits := spend.Limits{Calls: 3}
	for name, of := range map[string]struct {
		budgets *agents.Budgets
		more    string
	}{
		"of a run":  {&agents.Budgets{Run: limits}, ``},
		"of a task": {nil, `,"budget":{"calls":3}`},
	} {
		for how, tt := range map[string]struct {
			path    string
			restart bool
			calls   int // of tools that came to an end
		}{
			"without a rest":  {path: "w/notes/1", calls: 3},
			"after an answer": {path: "w/refunds/1", calls: 3},
			"after a restart": {path: "w/refunds/1", restart: true, calls: 3},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				dir, o := t.TempDir(), outside{t.TempDir()}
				look := ask("covia_read", `{"path":"w/a"}`)
				begin := func() (*venue.Venue, *venue.User) {
					v := open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{
						"default": o.model("bob", look, ask("covia_write", `{"path":"`+tt.path+`","value":1}`), look, look, look, look),
					}})
					return v, user(t, v, "alice")
				}
				v, alice := begin()
				s := spec("bob", "", `[{"with":"w/","can":"crud/read"},{"with":"w/notes/","can":"crud"},{"with":"w/refunds/","can":"crud/write","ask":true}]`)
				s.Tools, s.Budgets = []string{"covia:read", "covia:write"}, of.budgets
				create(t, alice, s)
				_, _ = alice.Invoke(t.Context(), "agent:request", json.RawMessage(`{"agentId":"bob","input":"go"`+of.more+`}`))
				if tt.restart {
					if err := v.Close(); err != nil {
						t.Fatal(err)
					}
					v, alice = begin()
				}
				var asked approvals.Listing
				if err := json.Unmarshal([]byte(invoke(t, alice, "approval:list", `{}`)), &asked); err != nil {
					t.Fatal(err)
				}
				for _, r := range asked.Requests {
					invoke(t, alice, "approval:approve", `{"id":"`+r.ID+`"}`)
				}
				list, _, err := alice.Runs(t.Context(), "", 9)
				if err != nil || len(list) != 1 {
					t.Fatalf("%d runs, %v", len(list), err)
				}
				rec := goesOn(t, v, alice, &tools.WaitError{Run: list[0].ID})
				calls := 0
				for e, err := range alice.Events(t.Context(), rec.ID, 0) {
					if err != nil {
						t.Fatal(err)
					}
					if _, is := e.Event.(runtime.ToolEnd); is {
						calls++
					}
				}
				if calls != tt.calls || rec.Status != runs.Failed || rec.Budget == nil {
					t.Errorf("it makes %d calls and is %s: %s; want %d, and that its budget is spent", calls, rec.Status, rec.Error, tt.calls)
				}
			})
		}
	}
}
