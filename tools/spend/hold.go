package spend

import (
	"context"
	"time"
)

// Call is a call of a model that budgets are to admit.
type Call struct {
	Model string // its name, for errors
	Input int    // estimated tokens of the request
	Price *Price // nil where nobody knows it
}

// Hold is what a call that was admitted holds of its budgets.
type Hold struct {
	budgets []*Budget
	amounts []Amount
}

// Take has all budgets hold what the call may cost, or none. It waits for those
// that let it wait, and otherwise fails with a *[BudgetError], or a
// *[PriceError] where a budget limits money and the price is not known.
func Take(ctx context.Context, budgets []*Budget, c Call) (Hold, error) {
	var late <-chan time.Time
	for {
		h, w, err := take(budgets, &c)
		if err == nil || w.room == nil {
			return h, err
		}
		if late == nil {
			late = time.After(w.longest)
		}
		select {
		case <-w.room:
		case <-late:
			return Hold{}, err
		case <-ctx.Done():
			return Hold{}, context.Cause(ctx)
		}
	}
}

// take is one attempt to be admitted.
func take(budgets []*Budget, c *Call) (Hold, wait, error) {
	h := Hold{budgets: budgets, amounts: make([]Amount, 0, len(budgets))}
	for _, b := range budgets {
		amount, w, err := b.admit(c)
		if err != nil {
			h.settle(Amount{}, 0)
			return Hold{}, w, err
		}
		h.amounts = append(h.amounts, amount)
	}
	return h, wait{}, nil
}

// Settle gives back what the call held, and charges what it used.
func (h Hold) Settle(u Usage) { h.settle(u.amount(), u.Output) }

func (h Hold) settle(cost Amount, answer int) {
	for i, amount := range h.amounts {
		h.budgets[i].settle(amount, cost, answer)
	}
}
