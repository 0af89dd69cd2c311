package venue_test

import (
	"encoding/json"
	"path"
	"slices"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/approvals"
	"usher/venue"
	"usher/venue/runs"
)

// Whoever asks another agent pays for what it does to its end: also for what it does when it
// has rested, in the same process or in another one.
func TestWhatGoesOnIsPaidByWhoAsked(t *testing.T) {
	for name, tt := range map[string]struct {
		budgets agents.Budgets
		budget  string // of the task that boss is given
		spent   string
	}{
		"by its life":    {budgets: agents.Budgets{Agent: calls(3)}, spent: "agent boss"},
		"by its session": {budgets: agents.Budgets{Session: calls(3)}, spent: "session * of boss"},
		"by its run":     {budgets: agents.Budgets{Run: calls(3)}, spent: "run of boss"},
		"by its task":    {budget: `,"budget":{"calls":3}`, spent: "task for boss"},
	} {
		for how, restart := range map[string]bool{"at once": false, "after a restart": true} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				dir, o := t.TempDir(), outside{t.TempDir()}
				look := ask("covia_read", `{"path":"w/a"}`)
				begin := func() (*venue.Venue, *venue.User) {
					v := open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{
						"boss": o.model("boss", ask("agent_request", `{"agentId":"hand","input":"work"}`)),
						"hand": o.model("hand", ask("covia_write", `{"path":"w/refunds/1","value":1}`), look, look, look),
					}})
					return v, user(t, v, "alice")
				}
				v, alice := begin()
				boss, hand := spec("boss", "boss", `[{"with":"w/","can":"crud"},{"with":"g/","can":"agent/request"}]`), spec("hand", "hand", forApproval)
				if tt.budget == "" {
					boss.Budgets = &tt.budgets
				}
				create(t, alice, boss)
				create(t, alice, hand)
				_, _ = alice.Invoke(t.Context(), "agent:request", json.RawMessage(`{"agentId":"boss","input":"go"`+tt.budget+`}`))
				if restart {
					if err := v.Close(); err != nil {
						t.Fatal(err)
					}
					v, alice = begin()
				}
				approveWhatIsAsked(t, alice)
				list, _, err := alice.Runs(t.Context(), "", 9)
				if err != nil || len(list) != 2 {
					t.Fatalf("%d runs, %v", len(list), err)
				}
				for _, rec := range list { // the hand's and the boss's
					rec := goesOn(t, v, alice, &tools.WaitError{Run: rec.ID})
					spent := false
					if rec.Budget != nil {
						spent, _ = path.Match(tt.spent, rec.Budget.Budget)
					}
					if rec.Status != runs.Failed || !spent || rec.Budget.Spent != "3" {
						t.Errorf("the run of %s is %s: %s (%+v), want that budget %q is spent by 3 calls", rec.Agent, rec.Status, rec.Error, rec.Budget, tt.spent)
					}
				}
				if asked := o.lines(t, "asked"); len(asked) != 3 {
					t.Errorf("models were asked %q, want three calls", asked)
				}
			})
		}
	}
}

const forApproval = `[{"with":"w/","can":"crud/read"},{"with":"w/refunds/","can":"crud/write","ask":true}]`

// approveWhatIsAsked says how many requests it approved.
func approveWhatIsAsked(t *testing.T, owner *venue.User) int {
	t.Helper()
	var asked approvals.Listing
	if err := json.Unmarshal([]byte(invoke(t, owner, "approval:list", `{}`)), &asked); err != nil {
		t.Fatal(err)
	}
	for _, r := range asked.Requests {
		invoke(t, owner, "approval:approve", `{"id":"`+r.ID+`"}`)
	}
	return len(asked.Requests)
}

// What an agent has scheduled is paid by the agent, though another one does it.
func TestASchedulePaysForWhatComesOfIt(t *testing.T) {
	inTime(t, "", func(t *testing.T, w *timed) {
		boss := spec("boss", "", `[{"with":"g/hand","can":"agent/request"},{"with":"schedules","can":"schedule"}]`)
		boss.Tools = append(boss.Tools, "scheduler:*")
		boss.Budgets = &agents.Budgets{Agent: calls(4)}
		create(t, w.alice, boss)
		create(t, w.alice, spec("hand", "", `[{"with":"w/","can":"crud"}]`))
		when := `{"operation":"agent:request","cron":"*/10 * * * *","input":{"agentId":"hand","input":"work"}}`
		if done := attempt(t, agentOf(t, w.alice, "boss"), w.model, "scheduler_schedule", when); done.Outcome != runtime.ToolOK {
			t.Fatal(done.Result)
		}
		w.sleep(time.Hour)
		ended := make(map[string]int)
		for _, job := range w.fired() {
			if job.Status != runs.Complete && (job.Budget == nil || job.Budget.Budget != "agent boss") {
				t.Errorf("a job is %s: %s", job.Status, job.Error)
			}
			ended[job.Status]++
		}
		if ended[runs.Complete] != 2 || ended[runs.Failed] < 3 {
			t.Errorf("the jobs ended %v, want two that are complete and then failures", ended)
		}
	})
}

// A job and an orchestration that go on are paid by the run that began them, though that has
// ended by then.
func TestAJobThatGoesOnIsPaidByWhoBeganIt(t *testing.T) {
	dir, o := t.TempDir(), outside{t.TempDir()}
	begin := func() (*venue.Venue, *venue.User) {
		v := open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{
			"boss": o.model("boss", ask("grid_invoke", `{"operation":"o/plan","input":{}}`)),
			"hand": o.model("hand", ask("covia_write", `{"path":"w/refunds/1","value":1}`)),
		}})
		return v, user(t, v, "alice")
	}
	v, alice := begin()
	invoke(t, alice, "covia:write", `{"path":"o/plan","value":{"type":"orchestration","operation":{"adapter":"orchestrator","steps":[
		{"op":"agent:request","input":{"agentId":["const","hand"],"input":["const","one"]}},
		{"op":"agent:request","input":{"agentId":["const","hand"],"input":["concat","two",[0,"status"]]}}]}}}`)
	boss := spec("boss", "boss", forAgents)
	boss.Budgets = &agents.Budgets{Run: calls(5)}
	create(t, alice, boss)
	create(t, alice, spec("hand", "hand", forApproval))
	if _, err := turnIn(t.Context(), agentOf(t, alice, "boss"), "main", "go"); err != nil { // two calls
		t.Fatal(err)
	}
	plan := func() (rec runs.Record) {
		t.Helper()
		list, _, err := alice.Runs(t.Context(), "", 9)
		i := slices.IndexFunc(list, func(r runs.Record) bool { return r.Op == "o/plan" })
		if err != nil || i < 0 {
			t.Fatalf("no plan among %d runs, %v", len(list), err)
		}
		return list[i]
	}
	for rec := plan(); !rec.Over(); rec = plan() { // each of its steps rests once, and takes two calls
		if approveWhatIsAsked(t, alice) > 0 {
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			v, alice = begin()
		}
		for _, r := range v.LiveRuns() {
			_, _ = r.Wait(t.Context())
		}
	}
	rec := plan()
	if rec.Status != runs.Failed || rec.Budget == nil || rec.Budget.Budget != "run of boss" || rec.Budget.Spent != "5" {
		t.Errorf("the plan is %s: %s (%+v)", rec.Status, rec.Error, rec.Budget)
	}
	if asked := o.lines(t, "asked"); len(asked) != 5 {
		t.Errorf("models were asked %q, want five calls", asked)
	}
}
