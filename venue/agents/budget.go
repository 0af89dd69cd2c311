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
	"usher/ucan"
	"usher/venue/accounts"
	"usher/venue/runs"
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

// withTurnBudgets returns ctx with the budgets that bind one turn of an agent: that of the task that
// it is, those of the agents above it and its own, the session's, and one for this run; a nil
// run is none. Whatever is done with the context is charged to all of them.
//
// What an agent has at its turn binds it for good, so budgets are counted where
// nothing limits them too: a limit that is set later finds what was spent.
func (r *Room) withTurnBudgets(ctx context.Context, k key, session string, run *runs.Part) (context.Context, error) {
	c := charges{room: r, budgets: make([]*spend.Budget, 0, 4)}
	c.turn(ctx, k, session, run)
	return c.in(ctx)
}

// WithBudgets returns ctx with the budgets of those for whom something is done that no call of
// theirs does: of the agents of auth, by which it was begun, and of the turns that a run of
// owner's, which goes on, is part of; nil is none.
func (r *Room) WithBudgets(ctx context.Context, auth tools.Authority, owner ucan.DID, run *runs.Record) (context.Context, error) {
	c := charges{room: r}
	if run != nil {
		above, err := r.Runs.Above(ctx, owner, run)
		if err != nil {
			return nil, err
		}
		for i := range above {
			if of := &above[i]; of.Session != "" && c.knows(ctx, keyOf(of.Of)) {
				c.turn(ctx, keyOf(of.Of), of.Session, of)
			}
		}
	}
	for _, life := range auth.Agents() {
		if k := keyOf(life); c.knows(ctx, k) {
			c.agent(ctx, k)
		}
	}
	return c.in(ctx)
}

// charges are the budgets that something is charged to, the highest first.
type charges struct {
	room    *Room
	budgets []*spend.Budget
	err     error
}

func (c *charges) in(ctx context.Context) (context.Context, error) {
	if c.err != nil || len(c.budgets) == 0 {
		return ctx, c.err
	}
	return runtime.WithKeeper(ctx, c.room.Accounts.Hold, c.budgets...), nil
}

func (c *charges) account(ctx context.Context, account, name string, limits func() spend.Limits) {
	if c.err == nil {
		var b *spend.Budget
		b, c.err = c.room.Accounts.Budget(ctx, account, name, limits)
		c.budgets = append(c.budgets, b)
	}
}

// knows reports whether there is an agent of the id, whatever its life: nobody else can say
// what may be spent.
func (c *charges) knows(ctx context.Context, k key) bool {
	_, rec, err := c.room.Book.get(ctx, k)
	c.err = cmp.Or(c.err, err)
	return rec != nil
}

// agent adds the budgets of an agent and of those above it. It returns its own.
func (c *charges) agent(ctx context.Context, k key) (own payer) {
	payers, err := c.room.payers(ctx, k)
	c.err = cmp.Or(c.err, err)
	for _, own = range payers {
		c.account(ctx, own.account, own.name, own.limits)
	}
	return own
}

// turn adds the budgets of a turn.
func (c *charges) turn(ctx context.Context, k key, session string, run *runs.Part) {
	if run != nil && run.Limits != nil {
		name := "task for " + k.id
		if run.Caller != "" {
			name = "task of " + run.Caller + " for " + k.id
		}
		c.account(ctx, accounts.OfTask(run.Name()), name, func() spend.Limits { return *run.Limits })
	}
	own := c.agent(ctx, k)
	if c.err != nil {
		return
	}
	c.account(ctx, accounts.Of(tools.Life(own.account), session), "session "+session+" of "+k.id, own.session)
	if limits := own.rec.budgets().Run; run != nil && limits != (spend.Limits{}) {
		c.account(ctx, accounts.OfRun(run.Name()), "run of "+k.id, func() spend.Limits { return limits })
	}
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

// mayLoosen refuses that an agent, or a program of one, replaces the budgets of old by looser
// ones, nil for none: the owner in person alone may.
func mayLoosen(call tools.Call, k key, old *record, next *agents.Budgets) error {
	limit := next.Looser(old.Config.Budgets)
	if limit == "" || byOwner(call) {
		return nil
	}
	return fault.New(fault.BudgetRaise, fmt.Sprintf("%s of agent %s can be lowered only: an agent cannot raise or remove a budget, nor remove an agent that has one: "+
		"end it without remove, or ask the owner", limit, k.id))
}

// newLimits lets changed budgets count at once, for turns that run too; those
// of a run count from the next one on.
func (r *Room) newLimits(k key, rec *record) {
	if e := r.Book.find(k); e != nil {
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
		spent, err := r.Accounts.Usage(ctx, string(at.rec.account(at.key)))
		if err != nil {
			return nil, own, err
		}
		b, of := at.rec.budgets(), at.key.id
		if at.key == k {
			own, of = spent, ""
			list = appendLimits(list, agents.Budget{For: "run", Limits: b.Run}, agents.Budget{For: "session", Limits: b.Session})
		}
		list = appendLimits(list, agents.Budget{For: "agent", Of: of, Limits: b.Agent, Spent: &spent})
	}
	return list, own, nil
}

// appendLimits appends the budgets that limit anything.
func appendLimits(list []agents.Budget, more ...agents.Budget) []agents.Budget {
	for _, b := range more {
		if b.Limits != (spend.Limits{}) {
			list = append(list, b)
		}
	}
	return list
}
