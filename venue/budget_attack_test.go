package venue_test

import (
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/tools/spend"
	"usher/venue"
)

var bossBudgets = &agents.Budgets{
	Run: spend.Limits{Calls: 50, Tokens: 900_000}, Session: spend.Limits{Calls: 90}, Agent: spend.Limits{Calls: 100, Money: 5_000_000},
}

// The ways in which an agent could write itself out of a budget.
func TestAttackABudgetIsNotRaisedFromBelow(t *testing.T) {
	const all = `"run":{"calls":50,"tokens":900000},"session":{"calls":90},"agent":{"calls":100,"money":5}`
	for _, tc := range []struct{ name, by, tool, arguments string }{
		{"raise", "boss", "agent_update", `{"agentId":"boss","config":{"budgets":{"run":{"calls":51,"tokens":900000},"session":{"calls":90},"agent":{"calls":100,"money":5}}}}`},
		{"drop one limit", "boss", "agent_update", `{"agentId":"boss","config":{"budgets":{"run":{"calls":50},"session":{"calls":90},"agent":{"calls":100,"money":5}}}}`},
		{"drop one budget", "boss", "agent_update", `{"agentId":"boss","config":{"budgets":{"run":{"calls":50,"tokens":900000},"agent":{"calls":100,"money":5}}}}`},
		{"drop all", "boss", "agent_update", `{"agentId":"boss","config":{"budgets":{}}}`},
		{"more money", "boss", "agent_update", `{"agentId":"boss","config":{"budgets":{` + strings.Replace(all, `5}`, `5.000001}`, 1) + `}}}`},
		{"replace oneself without", "boss", "agent_create", `{"agentId":"boss","overwrite":true,"config":{"model":"boss"}}`},
		{"replace oneself with more", "boss", "agent_create", `{"agentId":"boss","overwrite":true,"config":{"budgets":{"agent":{"calls":101,"money":5}}}}`},
		{"become another principal without", "boss", "agent_create", `{"agentId":"boss","overwrite":true,"config":{"identity":"own"}}`},
		{"fork another onto oneself", "boss", "agent_fork", `{"sourceId":"free","agentId":"boss","overwrite":true}`},
		{"the child raises its parent's", "kid", "agent_update", `{"agentId":"boss","config":{"budgets":{}}}`},
		{"the child replaces its parent", "kid", "agent_create", `{"agentId":"boss","overwrite":true}`},
		{"one beside it raises", "free", "agent_update", `{"agentId":"boss","config":{"budgets":{}}}`},
		{"one beside it replaces", "free", "agent_create", `{"agentId":"boss","overwrite":true}`},
		{"asking one that is above it", "kid", "agent_request", `{"agentId":"boss","input":"raise me"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHouse(t, bossBudgets, &agents.Budgets{Agent: calls(10)})
			create(t, h.alice, spec("free", "boss", forAgents))
			p := h.p
			if tc.by == "kid" {
				p = h.q
			}
			p.Ask(tc.tool, tc.arguments)
			if tc.tool == "agent_request" { // whoever is asked is bound by the one that asks
				h.p.Ask("agent_update", `{"agentId":"kid","config":{"budgets":{}}}`)
			}
			var outcome string
			for _, ev := range chat(t, agentOf(t, h.alice, tc.by), "go") {
				if done, ok := ev.(runtime.ToolEnd); ok {
					outcome += done.Result
				}
			}
			for _, a := range []struct {
				agent *venue.Agent
				want  *agents.Budgets
			}{{h.boss, bossBudgets}, {h.kid, &agents.Budgets{Agent: calls(10)}}} {
				if diff := cmp.Diff(a.want, about(t, a.agent).Config.Budgets); diff != "" {
					t.Errorf("budgets of %s (-before +after):\n%s\nthe model was told %s", a.agent.ID(), diff, outcome)
				}
			}
			told := strings.Join(append(h.p.Results(), h.q.Results()...), "\n")
			if !strings.Contains(told, `"budget_raise_denied"`) || !strings.Contains(told, "an agent cannot raise or remove a budget") {
				t.Errorf("the model was told %s", told)
			}
		})
	}
}

// An agent lowers budgets, and the owner alone raises them.
func TestAnAgentOnlyLowersABudget(t *testing.T) {
	h := newHouse(t, bossBudgets, &agents.Budgets{Agent: calls(50)})
	create(t, h.alice, spec("free", "boss", forAgents))
	limit := func(id, budgets string) string {
		return `{"agentId":"` + id + `","config":{"budgets":{` + budgets + `}}}`
	}
	for _, tc := range []struct {
		name, by, tool, arguments string
		ok                        bool
	}{
		{"lower its own", "boss", "agent_update", limit("boss", `"run":{"calls":40,"tokens":900000},"session":{"calls":90},"agent":{"calls":100,"tokens":5000000,"money":5}`), true},
		{"raise its own again", "boss", "agent_update", limit("boss", `"run":{"calls":50,"tokens":900000},"session":{"calls":90},"agent":{"calls":100,"tokens":5000000,"money":5}`), false},
		{"leave them", "boss", "agent_update", `{"agentId":"boss","config":{"prompt":"Be brief."}}`, true},
		{"lower what the owner set", "boss", "agent_update", limit("kid", `"agent":{"calls":40}`), true},
		{"raise what the owner set", "boss", "agent_update", limit("kid", `"agent":{"calls":41}`), false},
		{"make one", "kid", "agent_create", limit("made", `"run":{"calls":3}`), true},
		{"one beside it", "free", "agent_update", limit("made", ``), false},
		{"raise it", "kid", "agent_update", limit("made", `"run":{"calls":4}`), false},
		{"raise it from above", "boss", "agent_update", limit("made", `"run":{"calls":5}`), false},
		{"remove it", "kid", "agent_update", limit("made", ``), false},
		{"the owner raises it", "", "agent:update", limit("made", `"run":{"calls":5}`), true},
		{"lower what the owner raised", "kid", "agent_update", limit("made", `"run":{"calls":4}`), true},
		{"the owner removes it", "", "agent:update", limit("made", ``), true},
		{"become a parent", "free", "agent_update", `{"agentId":"kid","config":{"parent":"free"}}`, true},
		{"raise as such", "free", "agent_update", limit("kid", `"agent":{"calls":41}`), false},
		{"bound itself", "free", "agent_update", limit("free", `"run":{"calls":9}`), true},
		{"free itself", "free", "agent_update", limit("free", ``), false},
	} {
		p := h.p
		switch tc.by {
		case "kid":
			p = h.q
		case "": // the owner
			invoke(t, h.alice, tc.tool, tc.arguments)
			continue
		}
		done := attempt(t, agentOf(t, h.alice, tc.by), p, tc.tool, tc.arguments)
		if (done.Outcome == runtime.ToolOK) != tc.ok || !tc.ok && !strings.Contains(done.Result, "budget_raise_denied") {
			t.Errorf("%s: %s %s, want ok %v", tc.name, done.Outcome, done.Result, tc.ok)
		}
	}
	if got := about(t, h.kid).Config.Budgets.Agent.Calls; got != 40 {
		t.Errorf("the kid may make %d calls, want 40", got)
	}
}

// Two that are above each other could raise each other in turn.
func TestAttackBudgetsInACircle(t *testing.T) {
	h := newHouse(t, bossBudgets, &agents.Budgets{Agent: calls(50)})
	if done := attempt(t, h.kid, h.q, "agent_update", `{"agentId":"boss","config":{"parent":"kid"}}`); done.Outcome != runtime.ToolOK {
		t.Fatalf("the circle was not closed: %s", done.Result)
	}
	for agent, p := range map[*venue.Agent]*puppet{h.boss: h.p, h.kid: h.q} {
		for _, other := range []string{"boss", "kid"} {
			if done := attempt(t, agent, p, "agent_update", `{"agentId":"`+other+`","config":{"budgets":{}}}`); !strings.Contains(done.Result, "budget_raise_denied") {
				t.Errorf("%s removed the budgets of %s: %s", agent.ID(), other, done.Result)
			}
		}
	}
}

// What an agent has spent is not forgotten because it is made again.
func TestAttackSpendingIsNotForgotten(t *testing.T) {
	const keep = `"model":"boss","tools":["agent:*"],"budgets":{"agent":{"calls":3},"session":{"calls":2}}`
	for _, tc := range []struct{ name, by, tool, arguments string }{
		{"replaced by itself", "boss", "agent_create", `{"agentId":"boss","overwrite":true,"config":{` + keep + `}}`},
		{"replaced as another principal", "boss", "agent_create", `{"agentId":"boss","overwrite":true,"config":{"identity":"own",` + keep + `}}`},
		{"replaced by one beside it", "free", "agent_create", `{"agentId":"boss","overwrite":true,"config":{` + keep + `}}`},
		{"ended and made again", "free", "agent_delete", `{"agentId":"boss"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHouse(t, &agents.Budgets{Agent: calls(3), Session: calls(2)}, nil)
			free := create(t, h.alice, spec("free", "default", forAgents))
			by := h.boss
			if tc.by == "free" {
				by = free
				chat(t, h.boss, "hello")
				chat(t, h.boss, "hello")
			}
			h.p.Ask(tc.tool, tc.arguments)
			_, err := turnIn(t.Context(), by, "main", "go")
			if err != nil {
				t.Fatalf("%s: %v", tc.tool, err)
			}
			if tc.tool == "agent_delete" {
				attempt(t, free, h.p, "agent_create", `{"agentId":"boss","overwrite":true,"config":{`+keep+`}}`)
			}
			goruntime.GC() // what is only in memory may be forgotten
			boss := agentOf(t, h.alice, "boss")
			_, err = turnIn(t.Context(), boss, "main", "hello")
			spentBudget(t, err, spend.BudgetError{Budget: "session main of boss", Kind: "calls", Spent: "2", Limit: "2"})
			if _, err := turnIn(t.Context(), boss, "other", "hello"); err != nil {
				t.Errorf("the third call: %v", err)
			}
			_, err = turnIn(t.Context(), boss, "third", "hello")
			spentBudget(t, err, spend.BudgetError{Budget: "agent boss", Kind: "calls", Spent: "3", Limit: "3"})
		})
	}
}

// A copy that an agent makes of itself spends what the agent has left, and a
// session that was copied what the session had.
func TestAttackACopySpendsTheOriginals(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Agent: calls(4), Session: calls(2)}, nil)
	h.p.Ask("agent_fork", `{"sourceId":"boss","agentId":"copy","includeTimeline":true,"config":{"budgets":{"session":{"calls":2}}}}`)
	if _, err := turnIn(t.Context(), h.boss, "main", "go"); err != nil {
		t.Fatal(err)
	}
	// The session was copied in the middle of the turn, with one call made.
	duplicate := agentOf(t, h.alice, "copy")
	if _, err := turnIn(t.Context(), duplicate, "main", "hello"); err != nil {
		t.Errorf("the second call of the copied session: %v", err)
	}
	_, err := turnIn(t.Context(), duplicate, "main", "hello")
	spentBudget(t, err, spend.BudgetError{Budget: "session main of copy", Kind: "calls", Spent: "2", Limit: "2"})
	if _, err := turnIn(t.Context(), duplicate, "other", "hello"); err != nil {
		t.Errorf("the original's fourth call: %v", err)
	}
	_, err = turnIn(t.Context(), duplicate, "third", "hello")
	spentBudget(t, err, spend.BudgetError{Budget: "agent boss", Kind: "calls", Spent: "4", Limit: "4"})
}

// An agent that lends its own authority pays all the same from the budgets of
// whoever asks it.
func TestAttackALenderSpendsTheBorrowersBudget(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Run: calls(2)}, nil)
	lender := spec("lender", "kid", forAgents)
	lender.Authority = agents.AuthorityOwn
	create(t, h.alice, lender)
	h.p.Ask("agent_request", `{"agentId":"lender","input":"work"}`)
	h.q.Ask("covia_read", `{"path":"w/x"}`)
	_, err := turnIn(t.Context(), h.boss, "main", "go")
	spentBudget(t, err, spend.BudgetError{Budget: "run of boss", Kind: "calls", Spent: "2", Limit: "2"})
}

func TestLowerLimitsCountForATurnThatRuns(t *testing.T) {
	h := newHouse(t, nil, &agents.Budgets{Agent: calls(10)})
	h.q.Ask("covia_read", `{"path":"w/x"}`)
	h.kidModel.before = func() {
		h.kidModel.before = nil
		invoke(t, h.alice, "agent:update", `{"agentId":"kid","config":{"budgets":{"agent":{"calls":1}}}}`)
	}
	_, err := turnIn(t.Context(), h.kid, "main", "go")
	spentBudget(t, err, spend.BudgetError{Budget: "agent kid", Kind: "calls", Spent: "1", Limit: "1"})
}

func TestOnlyTheOwnerBeginsTheCountAnew(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Agent: calls(1)}, nil)
	chat(t, h.boss, "hello")
	invoke(t, h.alice, "agent:create", `{"agentId":"boss","overwrite":true,"config":{"model":"boss","budgets":{"agent":{"calls":1}}}}`)
	if _, err := turnIn(t.Context(), h.boss, "main", "hello"); err == nil {
		t.Error("the same agent with another config forgot what it had spent")
	}
	invoke(t, h.alice, "agent:delete", `{"agentId":"boss"}`)
	invoke(t, h.alice, "agent:create", `{"agentId":"boss","overwrite":true,"config":{"model":"boss","budgets":{"agent":{"calls":1}}}}`)
	if _, err := turnIn(t.Context(), agentOf(t, h.alice, "boss"), "main", "hello"); err != nil {
		t.Errorf("a new agent of that id: %v", err)
	}
	if _, err := h.alice.Invoke(t.Context(), "agent:update", map[string]any{"agentId": "boss", "config": map[string]any{"budgets": struct{}{}}}); fault.Of(err) == fault.BudgetRaise {
		t.Errorf("the owner in person was refused: %v", err)
	}
}

// A budget binds all below it, however deep.
func TestBudgetsOfAnAgentFarAbove(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Agent: calls(3)}, nil)
	low := spec("low", "kid", forAgents)
	low.Parent = "kid"
	lowest := create(t, h.alice, low)
	for range 3 {
		if _, err := turnIn(t.Context(), lowest, "main", "hello"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := turnIn(t.Context(), lowest, "main", "once more")
	spentBudget(t, err, spend.BudgetError{Budget: "agent boss", Kind: "calls", Spent: "3", Limit: "3"})
	invoke(t, h.alice, "agent:update", `{"agentId":"boss","config":{"budgets":{}}}`)
	if _, err := turnIn(t.Context(), lowest, "main", "once more"); err != nil {
		t.Errorf("after the owner took it away: %v", err)
	}
}

// Where several budgets are spent, the highest is named: to raise another would
// not help.
func TestOfSeveralSpentBudgetsTheHighestIsNamed(t *testing.T) {
	h := newHouse(t, &agents.Budgets{Agent: calls(1)}, &agents.Budgets{Agent: calls(1), Session: calls(1)})
	chat(t, h.kid, "spend it")
	_, err := turnIn(t.Context(), h.kid, "main", "hello")
	spentBudget(t, err, spend.BudgetError{Budget: "agent boss", Kind: "calls", Spent: "1", Limit: "1"})
}
