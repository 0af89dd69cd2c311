package venue_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/spend"
)

// An agent that may end and make others does not get rid of a budget by taking
// the record away that it stands in.
func TestAttackABudgetIsNotRemovedWithItsAgent(t *testing.T) {
	h := newHouse(t, bossBudgets, &agents.Budgets{Agent: calls(10)})
	create(t, h.alice, spec("free", "boss", forAgents))
	const remove = `{"agentId":"kid","remove":true}`
	for by, p := range map[string]*puppet{"free": h.p, "boss": h.p, "kid": h.q} {
		done := attempt(t, agentOf(t, h.alice, by), p, "agent_delete", remove)
		if !strings.Contains(done.Result, "budget_raise_denied") || !strings.Contains(done.Result, "end it without remove, or ask the owner") {
			t.Errorf("%s: %s %s", by, done.Outcome, done.Result)
		}
	}
	before := about(t, h.kid).Spent
	free := agentOf(t, h.alice, "free")
	if done := attempt(t, free, h.p, "agent_delete", `{"agentId":"kid"}`); done.Outcome != runtime.ToolOK {
		t.Errorf("to end it: %s", done.Result)
	}
	if done := attempt(t, free, h.p, "agent_delete", remove); !strings.Contains(done.Result, "budget_raise_denied") {
		t.Errorf("when it has ended: %s", done.Result)
	}
	if done := attempt(t, free, h.p, "agent_create", `{"agentId":"kid","overwrite":true,"config":{"model":"kid"}}`); !strings.Contains(done.Result, "budget_raise_denied") {
		t.Errorf("made again without: %s", done.Result)
	}
	if done := attempt(t, free, h.p, "agent_create", `{"agentId":"kid","overwrite":true,"config":{"model":"kid","budgets":{"agent":{"calls":10}}}}`); done.Outcome != runtime.ToolOK {
		t.Errorf("made again with it: %s", done.Result)
	}
	if diff := cmp.Diff(before, about(t, agentOf(t, h.alice, "kid")).Spent); diff != "" {
		t.Errorf("spent (-before +after):\n%s", diff)
	}
	invoke(t, h.alice, "agent:delete", remove)

	// Nor one that it has set itself.
	h.p.Ask("agent_create", `{"agentId":"made","config":{"model":"kid","budgets":{"run":{"calls":3}}}}`)
	chat(t, h.boss, "go")
	if done := attempt(t, h.boss, h.p, "agent_delete", `{"agentId":"made","remove":true}`); !strings.Contains(done.Result, "budget_raise_denied") {
		t.Errorf("by whoever set it: %s", done.Result)
	}
}

// Nobody pays for an agent that others put below it unasked.
func TestAttackAParentIsNotNamedUnasked(t *testing.T) {
	h := newHouse(t, nil, nil)
	victim := spec("victim", "kid", forAgents)
	victim.Budgets = &agents.Budgets{Agent: calls(5)}
	create(t, h.alice, victim)
	child := spec("child", "kid", `[]`)
	child.Parent = "victim"
	create(t, h.alice, child)
	mallory := create(t, h.alice, spec("mallory", "boss", `[{"with":"g/puppet","can":"agent"},{"with":"g/child","can":"agent/fork"}]`))
	for _, tc := range []struct {
		tool, arguments string
		ok              bool
	}{
		{"agent_create", `{"agentId":"puppet","config":{"model":"kid","parent":"victim","caps":[]}}`, false},
		{"agent_create", `{"agentId":"puppet","config":{"model":"kid","parent":"nobody","caps":[]}}`, false},
		{"agent_create", `{"agentId":"puppet","config":{"model":"kid","caps":[]}}`, true},
		{"agent_update", `{"agentId":"puppet","config":{"parent":"victim"}}`, false},
		{"agent_create", `{"agentId":"puppet","overwrite":true,"config":{"model":"kid","parent":"victim","caps":[]}}`, false},
		{"agent_fork", `{"sourceId":"child","agentId":"puppet","overwrite":true,"config":{"parent":"victim"}}`, false},
		{"agent_fork", `{"sourceId":"child","agentId":"puppet","overwrite":true}`, true}, // without the parent
		{"agent_request", `{"agentId":"puppet","input":"spend"}`, true},
	} {
		done := attempt(t, mallory, h.p, tc.tool, tc.arguments)
		if (done.Outcome == runtime.ToolOK) != tc.ok || !tc.ok && done.Outcome != runtime.ToolDenied {
			t.Errorf("%s %s: %s %s, want ok %v", tc.tool, tc.arguments, done.Outcome, done.Result, tc.ok)
		}
	}
	if spent := about(t, agentOf(t, h.alice, "victim")).Spent.Calls; spent != 0 {
		t.Errorf("the victim paid for %d calls", spent)
	}
	invoke(t, h.alice, "agent:delete", `{"agentId":"child","remove":true}`)
	invoke(t, h.alice, "agent:delete", `{"agentId":"victim","remove":true}`) // no child is in the way
}

// Who may give an agent tasks is not told what others have to spend.
func TestAttackABudgetErrorNamesNobodyElse(t *testing.T) {
	const ask = `{"agentId":"kid","input":"x"}`
	for _, tc := range []struct{ name, caps, want string }{
		{"may not read it", ``, "agent kid or of one above it"},
		{"may read it", `,{"with":"g/boss","can":"agent/read"}`, `"agent boss`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHouse(t, &agents.Budgets{Agent: calls(1)}, nil)
			asker := create(t, h.alice, spec("asker", "default", `[{"with":"g/kid","can":"agent/request"},{"with":"g/kid","can":"agent/read"},{"with":"j/","can":"crud/read"},{"with":"w/","can":"crud"},{"with":"","can":"invoke"}`+tc.caps+`]`))
			chat(t, h.boss, "hello") // now spent
			var byOwner struct{ ID string }
			if err := json.Unmarshal([]byte(invoke(t, h.alice, "grid:invoke", `{"operation":"agent:request","input":`+ask+`}`)), &byOwner); err != nil {
				t.Fatal(err)
			}
			if _, err := h.alice.Invoke(t.Context(), "grid:jobResult", map[string]string{"id": byOwner.ID}); err == nil || !strings.Contains(err.Error(), `"agent boss" is spent: 1 of 1 call`) {
				t.Errorf("the owner is told %v", err)
			}
			hides := tc.caps == ""
			job := `{"id":"` + byOwner.ID + `"}`
			for _, call := range [][2]string{
				{"agent_request", ask},
				{"agent_info", `{"agentId":"kid"}`},
				{"grid_run", `{"operation":"agent:request","input":` + ask + `}`},
				{"grid_jobStatus", job},
				{"grid_jobResult", job},
				{"covia_read", `{"path":"j/` + byOwner.ID + `/error"}`},
			} {
				told := attempt(t, asker, h.p, call[0], call[1]).Result
				if hides && strings.Contains(told, "boss") {
					t.Errorf("%s tells of an agent that the asker may not read: %s", call[0], told)
				}
				if call[0] == "agent_request" && (!strings.Contains(told, tc.want) && !strings.Contains(told, strings.ReplaceAll(tc.want, `"`, `\"`)) || !strings.Contains(told, "budget_spent")) {
					t.Errorf("the asker is told %s, want %s", told, tc.want)
				}
			}
		})
	}
}

// An agent is told of its own budget, also where it may not read itself.
func TestAnAgentKnowsItsOwnBudget(t *testing.T) {
	h := newHouse(t, nil, nil)
	s := spec("poor", "boss", `[{"with":"g/kid","can":"agent/request"}]`)
	s.Budgets = &agents.Budgets{Agent: calls(2)}
	poor := create(t, h.alice, s)
	h.p.Ask("agent_request", `{"agentId":"kid","input":"work"}`)
	h.q.Ask("covia_read", `{"path":"w/x"}`)
	results, err := turnIn(t.Context(), poor, "main", "go")
	spentBudget(t, err, spend.BudgetError{Budget: "agent poor", Kind: "calls", Spent: "2", Limit: "2"})
	if len(results) != 1 || !strings.Contains(results[0].Result, `"budget":"agent poor"`) {
		t.Errorf("it was told %+v", results)
	}
}

// An independent agent is above all in its own namespace, and may read each of
// them there. Of those above itself, whose namespace is another's, it and those
// below it learn nothing.
func TestAttackAnIndependentAgentReadsWhoeverIsAbove(t *testing.T) {
	h := newHouse(t, nil, nil)
	root := spec("root", "boss", "") // may do anything, and so may those below it
	root.Budgets = &agents.Budgets{Agent: calls(3)}
	create(t, h.alice, root)
	s := spec("carol", "kid", forAgents)
	s.Parent, s.Identity = "root", agents.IdentityOwn
	carol := create(t, h.alice, s)
	h.q.Ask("agent_create", `{"agentId":"low","config":{"model":"kid","caps":[]}}`)
	h.q.Ask("agent_info", `{"agentId":"low"}`)
	h.q.Ask("agent_request", `{"agentId":"low","input":"work"}`)
	results, err := turnIn(t.Context(), carol, "main", "go")
	spentBudget(t, err, spend.BudgetError{Budget: "agent root", Kind: "calls", Spent: "3", Limit: "3"})
	if len(results) != 3 || !strings.Contains(results[2].Result, "agent low or of one above it") {
		t.Errorf("it was told %+v", results)
	}
	for _, done := range results {
		if strings.Contains(done.Result, "root") {
			t.Errorf("%s tells of an agent in another's namespace: %s", done.Name, done.Result)
		}
	}
}

// waiting is a model that answers at length when it is let go.
type waiting struct {
	asked chan struct{}
	let   chan struct{}
}

func (m *waiting) Generate(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		m.asked <- struct{}{}
		<-m.let
		yield(runtime.Chunk{Text: "x", Usage: &runtime.Usage{Input: 10, Output: 16_000}}, nil)
	}
}

// Calls side by side do not each spend what all of them have.
func TestAttackTurnsAtOnceDoNotOverspend(t *testing.T) {
	const turns = 32
	m := &waiting{asked: make(chan struct{}, turns), let: make(chan struct{})}
	v := open(t, with(m))
	s := spec("boss", "", `[]`)
	s.Budgets = &agents.Budgets{Agent: spend.Limits{Tokens: 20_000}}
	boss := create(t, user(t, v, "alice"), s)
	var work sync.WaitGroup
	ended := make(chan error, turns)
	for range turns {
		work.Go(func() {
			_, err := turnIn(t.Context(), boss, "", "hello")
			ended <- err
		})
	}
	for range 2 {
		<-m.asked
	}
	close(m.let)
	work.Wait()
	refused := 0
	for range turns {
		if err := <-ended; err != nil {
			refused++
		}
	}
	if n := about(t, boss).Spent.Tokens; n > 40_000 || refused != turns-2 {
		t.Errorf("%d turns were refused, and %d tokens spent of 20,000", refused, n)
	}
}
