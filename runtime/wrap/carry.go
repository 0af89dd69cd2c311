package wrap

import (
	"context"
	"slices"
)

type budgetKey struct{}

// carried returns the budgets of ctx, the one added first before the others.
func carried(ctx context.Context) []*Budget {
	budgets, _ := ctx.Value(budgetKey{}).([]*Budget)
	return budgets
}

// WithBudget returns ctx with b to be charged by every metered model call
// below it (see [Metered]), beside the budgets that ctx carries already: a
// bound is added to and never shed.
//
// A context value is right here, where it would be wrong for an authority: a
// budget only ever refuses. It permits nothing, so whoever drops or forges one
// gains no capability, and it has to reach calls through code that does not
// know of it: tools that start other agents, whose turns are the same run's.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	if b == nil {
		return ctx
	}
	return context.WithValue(ctx, budgetKey{}, append(slices.Clip(carried(ctx)), b))
}

// BudgetFrom returns the budget that was last added to ctx, or nil. Hand a
// child of it on to bound a part of the work further; nil has children too.
func BudgetFrom(ctx context.Context) *Budget {
	budgets := carried(ctx)
	if len(budgets) == 0 {
		return nil
	}
	return budgets[len(budgets)-1]
}

// CarryBudgets returns to with the budgets of from added: for work that goes on
// when what started it has ended, and is still to be paid by it.
func CarryBudgets(to, from context.Context) context.Context {
	for _, b := range carried(from) {
		if !slices.Contains(carried(to), b) {
			to = WithBudget(to, b)
		}
	}
	return to
}
