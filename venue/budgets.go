package venue

import (
	"context"
	"slices"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/spend"
	"usher/venue/accounts"
)

// account is where what the agent spends is counted: the same for all lives of
// it that no person began.
func (r *record) account(key agentKey) bound { return bound{key, either(r.Account, r.Life)} }

func (r *record) budgets() agents.Budgets {
	if r == nil || r.Config.Budgets == nil {
		return agents.Budgets{}
	}
	return *r.Config.Budgets
}

// agentLimits and sessionLimits are an agent's limits as they are when asked.
func agentLimits(a *agent) func() spend.Limits {
	return func() spend.Limits { return a.rec.Load().budgets().Agent }
}

func sessionLimits(a *agent) func() spend.Limits {
	return func() spend.Limits { return a.rec.Load().budgets().Session }
}

// bounded returns ctx with the budgets that bind one turn of an agent: those of
// the agents above it and its own, the session's, and one for this run.
// Whatever is done with the context is charged to all of them.
//
// What an agent has at its turn binds it for good, so budgets are counted where
// nothing limits them too: a limit that is set later finds what was spent.
func (v *Venue) bounded(ctx context.Context, a *agent, session string) (context.Context, error) {
	rec := a.rec.Load()
	if rec == nil {
		return nil, &NoAgentError{a.key.id}
	}
	above, err := v.agents.above(ctx, a.key)
	if err != nil {
		return nil, err
	}
	var budgets []*spend.Budget
	slices.Reverse(above) // of several that are spent, the highest is named
	for _, at := range above {
		rec := at.rec.Load()
		if rec == nil {
			continue
		}
		b, err := v.accounts.Budget(ctx, rec.account(at.key).String(), ofAgent+at.key.id, agentLimits(at))
		if err != nil {
			return nil, err
		}
		budgets = append(budgets, b)
	}
	b, err := v.accounts.Budget(ctx, accounts.Of(rec.account(a.key).name(), session), "session "+session+" of "+a.key.id, sessionLimits(a))
	if err != nil {
		return nil, err
	}
	budgets = append(budgets, b)
	if run := rec.budgets().Run; run != (spend.Limits{}) {
		b := spend.NewBudget("run of "+a.key.id, run)
		b.Wait(accounts.LongestWait)
		budgets = append(budgets, b)
	}
	return runtime.WithKeeper(runtime.WithBudgets(ctx, budgets...), v.accounts.Hold), nil
}

// ofTask returns ctx with the budget of a task, where it has one of its own.
func ofTask(ctx context.Context, call tools.Call, task agents.Task) context.Context {
	if task.Budget == (spend.Limits{}) {
		return ctx
	}
	name := "task for " + task.Agent
	if by := call.Actor(); by != "" {
		name = "task of " + by + " for " + task.Agent
	}
	b := spend.NewBudget(name, task.Budget)
	b.Wait(accounts.LongestWait)
	return runtime.WithBudgets(ctx, b)
}

// newLimits lets changed budgets count at once, for turns that run too; those
// of a run count from the next one on.
func (v *Venue) newLimits(key agentKey, rec *record) {
	if a := v.agents.known(key); a != nil {
		v.accounts.Limit(rec.account(key).name(), agentLimits(a), sessionLimits(a))
	}
}

// above returns the agent and all that it has its capabilities from, directly
// or not, itself first. A budget binds by the id: an agent that was made again
// under it binds those below it as the one before did.
func (b *agentBook) above(ctx context.Context, key agentKey) ([]*agent, error) {
	var out []*agent
	seen := []agentKey{key}
	for i := 0; i < len(seen); i++ {
		at, err := b.get(ctx, seen[i])
		if err != nil {
			return nil, err
		}
		if at == nil {
			continue
		}
		rec := at.rec.Load()
		if rec == nil {
			continue
		}
		out = append(out, at)
		for _, name := range rec.Givers {
			if giver := parseBound(name).key; giver != (agentKey{}) && !slices.Contains(seen, giver) {
				seen = append(seen, giver)
			}
		}
	}
	return out, nil
}

// budgetsOf tells an agent's budgets and those of the agents above it that are
// known.
func (v *Venue) budgetsOf(ctx context.Context, a *agent, known func(agentKey) bool) (list []agents.Budget, own spend.Amount, err error) {
	above, err := v.agents.above(ctx, a.key)
	if err != nil {
		return nil, own, err
	}
	for _, at := range above {
		rec := at.rec.Load()
		if rec == nil || at != a && !known(at.key) {
			continue
		}
		spent, err := v.accounts.Spent(ctx, rec.account(at.key).String())
		if err != nil {
			return nil, own, err
		}
		b, of := rec.budgets(), at.key.id
		if at == a {
			own, of = spent, ""
			list = appendLimited(list, agents.Budget{For: "run", Limits: b.Run}, agents.Budget{For: "session", Limits: b.Session})
		}
		list = appendLimited(list, agents.Budget{For: "agent", Of: of, Limits: b.Agent, Spent: &spent})
	}
	return list, own, nil
}

// appendLimited appends the budgets that limit anything.
func appendLimited(list []agents.Budget, more ...agents.Budget) []agents.Budget {
	for _, b := range more {
		if b.Limits != (spend.Limits{}) {
			list = append(list, b)
		}
	}
	return list
}
