package wrap

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"

	"usher/runtime"
)

// Price is what a model's tokens cost, in micro-units of a currency for a
// million tokens: 2.50 a million is 2_500_000.
type Price struct{ Input, Output int64 }

// BudgetLimits bound what may be spent. 0 is no limit of that kind; a negative
// limit admits nothing.
type BudgetLimits struct {
	Calls  int64
	Tokens int64            // input and output together
	Money  int64            // micro-units of the currency of Prices
	Prices map[string]Price // by price name; nil takes the parent's
}

// Spent is what has been spent of a budget.
type Spent struct{ Calls, Tokens, Money int64 }

// Budget bounds what model calls may spend: for a run, a session, an agent.
// A call is admitted while something is left, and charged when its usage is
// known, so a budget ends at most one call beyond its limit; of calls that run
// at once, each holds the estimated size of its request until it is charged.
// A Budget is safe for concurrent use.
type Budget struct {
	name   string
	limits BudgetLimits
	parent *Budget

	mu    sync.Mutex // guards what follows; never held together with another budget's
	spent Spent
	held  Spent // estimates of the calls that run now
}

// NewBudget returns a budget of its own.
func NewBudget(name string, limits BudgetLimits) *Budget {
	limits.Prices = maps.Clone(limits.Prices)
	return &Budget{name: name, limits: limits}
}

// Child returns a budget whose spending is its parent's too. Its limits may
// exceed the parent's, and then the parent's hold. A nil Budget's child is a
// budget of its own.
func (b *Budget) Child(name string, limits BudgetLimits) *Budget {
	child := NewBudget(name, limits)
	child.parent = b
	return child
}

// Name is the budget's name, as errors tell it.
func (b *Budget) Name() string { return b.name }

// Spent returns what has been spent so far.
func (b *Budget) Spent() Spent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// price returns what model costs by b's table or the nearest ancestor's.
func (b *Budget) price(model string) (Price, bool) {
	for ; b != nil; b = b.parent {
		if b.limits.Prices != nil {
			p, ok := b.limits.Prices[model]
			return p, ok
		}
	}
	return Price{}, false
}

// BudgetError says that a budget admits no further call. Trying again is
// useless until the budget is raised.
type BudgetError struct {
	Budget string
	Kind   string // "calls", "tokens" or "money"
	Spent  int64
	Held   int64 // by calls that run now
	Limit  int64
}

func (e *BudgetError) Error() string {
	show := func(n int64) string { return strconv.FormatInt(n, 10) }
	if e.Kind == kindMoney {
		show = money
	}
	text := fmt.Sprintf("budget %q is spent: %s of %s %s", e.Budget, show(e.Spent), show(e.Limit), e.Kind)
	if e.Held > 0 {
		text += fmt.Sprintf(", and %s held by calls that run now", show(e.Held))
	}
	return text
}

// Temporary is false.
func (e *BudgetError) Temporary() bool { return false }

// PriceError says that a budget which limits money has no price for a model.
// The call is refused: what cannot be counted cannot be bounded.
type PriceError struct{ Budget, Model string }

func (e *PriceError) Error() string {
	return fmt.Sprintf("budget %q limits money but has no price for model %q: add it to the prices", e.Budget, e.Model)
}

// Temporary is false.
func (e *PriceError) Temporary() bool { return false }

const (
	kindCalls  = "calls"
	kindTokens = "tokens"
	kindMoney  = "money"
)

// admits says whether something is left in b itself. The caller holds mu.
func (b *Budget) admits(model string) error {
	if _, priced := b.price(model); b.limits.Money != 0 && !priced {
		return &PriceError{b.name, model}
	}
	for _, l := range []struct {
		kind               string
		spent, held, limit int64
	}{
		{kindCalls, b.spent.Calls, 0, b.limits.Calls},
		{kindTokens, b.spent.Tokens, b.held.Tokens, b.limits.Tokens},
		{kindMoney, b.spent.Money, b.held.Money, b.limits.Money},
	} {
		if l.limit != 0 && plus(l.spent, l.held) >= max(l.limit, 0) {
			return &BudgetError{b.name, l.kind, l.spent, l.held, max(l.limit, 0)}
		}
	}
	return nil
}

// cost is what usage takes from b.
func (b *Budget) cost(model string, u runtime.Usage) Spent {
	in, out := int64(max(u.Input, 0)), int64(max(u.Output, 0)) // a negative count would be a refund
	p, _ := b.price(model)
	return Spent{Tokens: plus(in, out), Money: plus(charge(in, p.Input), charge(out, p.Output))}
}

// charge is tokens at a price per million, rounded up.
func charge(tokens, price int64) int64 {
	hi, lo := bits.Mul64(uint64(tokens), uint64(max(price, 0)))
	lo, carry := bits.Add64(lo, 999_999, 0)
	hi += carry
	if hi >= 1_000_000 {
		return math.MaxInt64
	}
	n, _ := bits.Div64(hi, lo, 1_000_000)
	return int64(min(n, math.MaxInt64))
}

// plus adds what is not negative; a sum that overflowed would be a refund.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// money prints micro-units as units, with at least two decimals.
func money(micro int64) string {
	text := fmt.Sprintf("%d.%06d", micro/1_000_000, micro%1_000_000)
	for strings.HasSuffix(text, "0") && text[len(text)-3] != '.' {
		text = text[:len(text)-1]
	}
	return text
}

type budgetKey struct{}

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
	outer, _ := ctx.Value(budgetKey{}).([]*Budget)
	return context.WithValue(ctx, budgetKey{}, append(slices.Clip(outer), b))
}

// BudgetFrom returns the budget that was last added to ctx, or nil. Hand a
// child of it on to bound a part of the work further; nil has children too.
func BudgetFrom(ctx context.Context) *Budget {
	budgets, _ := ctx.Value(budgetKey{}).([]*Budget)
	if len(budgets) == 0 {
		return nil
	}
	return budgets[len(budgets)-1]
}
