package venue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/ucan"
	"usher/venue/agents"
	"usher/venue/config"
	"usher/venue/runs"
	"usher/venue/store/journal"
	"usher/venue/visitors"
)

// lives are those of the venue's agents, and of the visitors that came in by Agent-Auth.
type lives struct {
	book     *agents.Book
	tokens   *ucan.Store
	visitors *visitors.Room
}

var _ tools.Lives = (*lives)(nil)

// Epoch moves on with either, and with every revocation, on which visitors rest.
func (l *lives) Epoch() uint64 {
	return l.book.Epoch() + l.visitors.Epoch() + l.tokens.RevocationCount()
}

// Live is that of whom the life is.
func (l *lives) Live(ctx context.Context, life tools.Life) (caps.Set, ucan.DID) {
	if visitors.IsLife(life) {
		return l.visitors.Live(ctx, life)
	}
	return l.book.Live(ctx, life)
}

// Visitors is the room of who came in by Agent-Auth.
func (v *Venue) Visitors() *visitors.Room { return v.lives.visitors }

// setVisits has visitors be let in as a configuration says.
func (v *Venue) setVisits(ctx context.Context, c *config.Config) error {
	owner, err := v.keys.User(ctx, cmp.Or(c.User, defaultUser))
	if err != nil {
		return err
	}
	var lender ucan.DID
	if of := c.AgentAuth.Autonomous; of != nil {
		lender, err = v.keys.User(ctx, of.Owner)
		if err != nil && !errors.Is(err, journal.ErrReadOnly) { // by which nobody is made, and nobody let in
			return err
		}
	}
	return v.lives.visitors.Set(owner, lender, c.AgentAuth)
}

// Visit is the principal of a visitor's call: it acts for its user, within its grants.
func (v *Venue) Visit(auth tools.Authority, still func(context.Context) error) *Principal {
	p := v.principal(auth, still)
	p.charged = v.withVisitBudget
	return p
}

// withVisitBudget returns ctx with the budget that bounds what models use for a call: that of all
// agents from elsewhere that nobody has approved, where it comes of one.
func (v *Venue) withVisitBudget(ctx context.Context, auth tools.Authority) (context.Context, error) {
	paid, err := v.lives.visitors.IsPaidByOwner(ctx, auth)
	if err != nil || !paid {
		return ctx, err
	}
	b, err := v.spending.Budget(ctx, "visitors", "all agents from elsewhere that nobody approved", v.lives.visitors.Budget)
	if err != nil {
		return ctx, err
	}
	return runtime.WithKeeper(ctx, v.spending.Hold, b), nil
}

// withBudgets is [Venue.withVisitBudget] for what goes on, or begins, by itself: with the budgets of the agents
// for whom that is. run is what goes on, of owner's; nil is what begins.
func (v *Venue) withBudgets(ctx context.Context, auth tools.Authority, owner ucan.DID, run *runs.Record) (context.Context, error) {
	ctx, err := v.withVisitBudget(ctx, auth)
	if err != nil {
		return nil, err
	}
	return v.agents.WithBudgets(ctx, auth, owner, run)
}

// Begin starts an operation as a run in the background, and returns its id: what it is
// denied it is denied at once. The run outlives ctx, and each of its calls is decided anew.
func (p *Principal) Begin(ctx context.Context, operation string, input json.RawMessage) (id string, err error) {
	ruling, err := p.Decide(ctx, operation, input)
	if err != nil {
		return "", err
	}
	if denial := ruling.Denial(); denial != nil {
		return "", denial
	}
	if p.charged != nil {
		if ctx, err = p.charged(ctx, p.auth); err != nil {
			return "", err
		}
	}
	op := ruling.Operation()
	run, err := p.runs.Start(ctx, p.auth, runs.Spec{Kind: runs.Job, Op: op.Path(), Ref: op.Reference(), Input: input, Background: true},
		func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
			res, err := p.gate.Invoke(ctx, p.auth.InRun(r.ID()), tools.Invocation{Operation: op.Reference(), Input: input, At: runs.OfJob})
			return res.Output, err
		})
	if err != nil {
		return "", err
	}
	return run.ID(), nil
}

// VisitorRun is the record of a run that a visitor has begun for a user. Whose it is, the room
// of visitors has said.
func (v *Venue) VisitorRun(ctx context.Context, user ucan.DID, id string) (runs.Record, error) {
	rec, err := v.runs.Find(ctx, user, id)
	rec.Authority = nil
	return rec, err
}

// VisitorEvents follows a run that a visitor has begun for a user: see [runs.Book.Events].
func (v *Venue) VisitorEvents(ctx context.Context, user ucan.DID, id string) iter.Seq2[runtime.Entry, error] {
	return v.runs.Events(ctx, user, id, 0)
}
