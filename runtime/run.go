package runtime

import (
	"context"
	"slices"
	"sync"

	"usher/runtime/telemetry"
	"usher/tools/spend"
)

// run is what a turn hands down, by its context, to all that comes of it, also
// through tools that know nothing of turns. It bounds and counts: whoever drops
// or forges one gains no capability. The zero value bounds nothing.
type run struct {
	budgets []*spend.Budget
	keep    func(context.Context)
	tally   *tally
	secrets *telemetry.Secrets
}

// runContext is a context that hands a run down.
type runContext struct {
	context.Context
	run run
}

type runKey struct{}

func (c *runContext) Value(key any) any {
	if key == (runKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func runOf(ctx context.Context) run {
	if c, ok := ctx.Value(runKey{}).(*runContext); ok {
		return c.run
	}
	return run{}
}

func (r run) in(ctx context.Context) context.Context { return &runContext{ctx, r} }

// WithBudgets returns ctx with its model calls charged to the budgets too,
// beside those that it has already: a bound is added to and never shed.
func WithBudgets(ctx context.Context, budgets ...*spend.Budget) context.Context {
	return WithKeeper(ctx, runOf(ctx).keep, budgets...)
}

// WithKeeper is [WithBudgets] for budgets that outlive the process: keep is called
// before each model call, when the budgets of ctx hold what it may cost.
func WithKeeper(ctx context.Context, keep func(context.Context), budgets ...*spend.Budget) context.Context {
	r := runOf(ctx)
	r.keep = keep
	r.budgets = slices.Grow(slices.Clip(r.budgets), len(budgets))
	for _, b := range budgets {
		if !slices.Contains(r.budgets, b) {
			r.budgets = append(r.budgets, b)
		}
	}
	return r.in(ctx)
}

// Budgets returns the budgets of ctx, the one added first before the others.
func Budgets(ctx context.Context) []*spend.Budget { return runOf(ctx).budgets }

// Keep has whoever keeps the budgets of ctx write down what they hold.
func Keep(ctx context.Context) {
	if keep := runOf(ctx).keep; keep != nil {
		keep(ctx)
	}
}

// tally counts the model calls of a turn and of those that it led to.
type tally struct {
	above *tally // of the turn that led to this one

	mu    sync.Mutex
	spent Spending
}

// below begins t under the tally of ctx.
func (t *tally) below(ctx context.Context) context.Context {
	r := runOf(ctx)
	t.above, r.tally = r.tally, t
	return r.in(ctx)
}

// add counts a call, for the turn and for all above it.
func (t *tally) add(used Usage) {
	for ; t != nil; t = t.above {
		t.mu.Lock()
		t.spent.Calls++
		t.spent.Usage = t.spent.Usage.Plus(used)
		t.mu.Unlock()
	}
}

func (t *tally) total() Spending {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spent
}
