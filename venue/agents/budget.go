package agents

import (
	"cmp"
	"context"
	"fmt"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/tools/spend"
	"usher/venue/accounts"
)

// account is where what the agent spends is counted: the same for all lives of
// it that no person began.
func (r *record) account(k key) tools.Life { return k.life(cmp.Or(r.Account, r.Life)) }

func (r *record) budgets() agents.Budgets {
	if r == nil || r.Config.Budgets == nil {
		return agents.Budgets{}
	}
	return *r.Config.Budgets
}

// agentLimits and sessionLimits are an agent's limits as they are when asked.
func agentLimits(e *entry) func() spend.Limits {
	return func() spend.Limits { return e.rec.Load().budgets().Agent }
}

func sessionLimits(e *entry) func() spend.Limits {
	return func() spend.Limits { return e.rec.Load().budgets().Session }
}

// bounded returns ctx with the budgets that bind one turn of an agent: those of
// the agents above it and its own, the session's, and one for this run.
// Whatever is done with the context is charged to all of them.
//
// What an agent has at its turn binds it for good, so budgets are counted where
// nothing limits them too: a limit that is set later finds what was spent.
// A turn that goes on has used past of what is for this run.
func (r *Room) bounded(ctx context.Context, k key, session string, past spend.Amount) (context.Context, error) {
	payers, err := r.payers(ctx, k)
	if err != nil {
		return nil, err
	}
	budgets := make([]*spend.Budget, 0, len(payers)+2)
	for _, p := range payers {
		b, err := r.Accounts.Budget(ctx, p.account, p.name, p.limits)
		if err != nil {
			return nil, err
		}
		budgets = append(budgets, b)
	}
	own := payers[len(payers)-1]
	b, err := r.Accounts.Budget(ctx, accounts.Of(tools.Life(own.account), session), "session "+session+" of "+k.id, own.session)
	if err != nil {
		return nil, err
	}
	budgets = append(budgets, b)
	if run := own.rec.budgets().Run; run != (spend.Limits{}) {
		b := spend.NewAccount("", "run of "+k.id, run, past)
		b.Wait(accounts.LongestWait)
		budgets = append(budgets, b)
	}
	return runtime.WithKeeper(ctx, r.Accounts.Hold, budgets...), nil
}

// payer is one of those whose budgets bind an agent: itself or one above it.
type payer struct {
	relative
	account, name   string
	limits, session func() spend.Limits
}

// payers returns those whose budgets bind an agent, itself last: of several that
// are spent, the highest is named. It is asked for each turn, and computed once an
// epoch.
func (r *Room) payers(ctx context.Context, k key) ([]payer, error) {
	e, _, err := r.find(ctx, k)
	if err != nil {
		return nil, err
	}
	epoch := r.Book.Epoch()
	if m := e.payers.Load(); m != nil && m.epoch == epoch {
		return m.all, nil
	}
	above, err := r.Book.above(ctx, k)
	if err != nil {
		return nil, err
	}
	if len(above) == 0 {
		return nil, &NoAgentError{k.id}
	}
	all := make([]payer, len(above))
	for i, at := range above {
		all[len(above)-1-i] = payer{at, string(at.rec.account(at.key)), ofAgent + at.key.id, agentLimits(at.entry), sessionLimits(at.entry)}
	}
	e.payers.Store(&binding{epoch, all})
	return all, nil
}

// binding is what bound an agent's spending under an epoch.
type binding struct {
	epoch uint64
	all   []payer
}

// ofTask returns ctx with the budget of a task that by gave an agent, empty for the owner,
// and past of which is used; nil is none.
func ofTask(ctx context.Context, by, agent string, limits *spend.Limits, past spend.Amount) context.Context {
	if limits == nil {
		return ctx
	}
	name := "task for " + agent
	if by != "" {
		name = "task of " + by + " for " + agent
	}
	b := spend.NewAccount("", name, *limits, past)
	b.Wait(accounts.LongestWait)
	return runtime.WithBudgets(ctx, b)
}

// mayLoosen refuses that an agent replaces the budgets of old by looser ones, nil
// for none: the owner in person alone may.
func mayLoosen(call tools.Call, k key, old *record, next *agents.Budgets) error {
	limit := next.Looser(old.Config.Budgets)
	if call.Actor() == "" || limit == "" {
		return nil
	}
	return fault.New(fault.BudgetRaise, fmt.Sprintf("%s of agent %s can be lowered only: an agent cannot raise or remove a budget, nor remove an agent that has one: "+
		"end it without remove, or ask the owner", limit, k.id))
}

// newLimits lets changed budgets count at once, for turns that run too; those
// of a run count from the next one on.
func (r *Room) newLimits(k key, rec *record) {
	if e := r.Book.known(k); e != nil {
		r.Accounts.Limit(rec.account(k), agentLimits(e), sessionLimits(e))
	}
}

// budgetsOf tells an agent's budgets and those of the agents above it that are
// known.
func (r *Room) budgetsOf(ctx context.Context, k key, known func(key) bool) (list []agents.Budget, own spend.Amount, err error) {
	above, err := r.Book.above(ctx, k)
	if err != nil {
		return nil, own, err
	}
	for _, at := range above {
		if at.key != k && !known(at.key) {
			continue
		}
		spent, err := r.Accounts.Spent(ctx, string(at.rec.account(at.key)))
		if err != nil {
			return nil, own, err
		}
		b, of := at.rec.budgets(), at.key.id
		if at.key == k {
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
