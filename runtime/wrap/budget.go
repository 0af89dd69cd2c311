package wrap

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"usher/runtime"
)

// BudgetLimits bound what may be spent. 0 is no limit of that kind; a negative
// limit admits nothing.
type BudgetLimits struct {
	Calls  int64
	Tokens int64 // input and output together
	Money  int64 // micro-units of the currency of the models' prices
}

// Spent is what has been spent of a budget.
type Spent struct{ Calls, Tokens, Money int64 }

func (s Spent) plus(t Spent) Spent {
	return Spent{plus(s.Calls, t.Calls), plus(s.Tokens, t.Tokens), plus(s.Money, t.Money)}
}

// minus stops at nothing: less would let a call too many in.
func (s Spent) minus(t Spent) Spent {
	return Spent{max(s.Calls-t.Calls, 0), max(s.Tokens-t.Tokens, 0), max(s.Money-t.Money, 0)}
}

// plus adds what is not negative; a sum that overflowed would be a refund.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// charge is one call that used u.
func charge(u runtime.Usage) Spent {
	in, out := int64(max(u.Input, 0)), int64(max(u.Output, 0))
	return Spent{Calls: 1, Tokens: plus(in, out), Money: max(u.Cost, 0)}
}

// Budget bounds what model calls may spend: for a run, a session, an agent.
// A call is admitted while something is left, and charged when its usage is
// known, so a budget ends at most one call beyond its limit; of calls that run
// at once, each holds itself and the estimated size of its request until it is
// charged. A Budget is safe for concurrent use.
type Budget struct {
	name   string
	parent *Budget

	telling sync.Mutex // held while onSpent runs, and taken before mu
	mu      sync.Mutex // guards what follows; never held together with another budget's
	limits  BudgetLimits
	spent   Spent
	held    Spent // by the calls that run now
	onSpent func(Spent)
}

// NewBudget returns a budget of its own.
func NewBudget(name string, limits BudgetLimits) *Budget {
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

// Limits are the budget's own; an ancestor's may be lower.
func (b *Budget) Limits() BudgetLimits {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limits
}

// SetLimits changes the budget's own limits, for the calls that begin after it.
func (b *Budget) SetLimits(limits BudgetLimits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limits = limits
}

// Spent returns what has been spent so far.
func (b *Budget) Spent() Spent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// Resume sets what was spent before: for a budget that outlives a process.
// Call it before b is used. The parent's spending stays as it is.
func (b *Budget) Resume(spent Spent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = Spent{}.plus(spent)
}

// OnSpent has f called with the total after each call that was charged, before
// the model's answer ends. There is one f; nil is none.
//
// Calls of f come one after the other, and each reads the total when its turn
// has come, so that the last one sees the largest. The budget itself is not
// locked meanwhile, so f may ask it what it likes; but f must not call a model
// that b bounds, as that call would wait for f to end.
func (b *Budget) OnSpent(f func(Spent)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onSpent = f
}

// admit holds what a call may cost, or says why it is refused.
func (b *Budget) admit(hold Spent) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range [...]struct {
		kind               string
		spent, held, limit int64
	}{
		{kindCalls, b.spent.Calls, b.held.Calls, b.limits.Calls},
		{kindTokens, b.spent.Tokens, b.held.Tokens, b.limits.Tokens},
		{kindMoney, b.spent.Money, b.held.Money, b.limits.Money},
	} {
		if l.limit != 0 && plus(l.spent, l.held) >= max(l.limit, 0) {
			return &BudgetError{b.name, l.kind, l.spent, l.held, max(l.limit, 0)}
		}
	}
	b.held = b.held.plus(hold)
	return nil
}

// settle gives back what a call held and charges what it cost; nothing is a
// call that was not made.
func (b *Budget) settle(hold, cost Spent) {
	b.mu.Lock()
	b.held = b.held.minus(hold)
	b.spent = b.spent.plus(cost)
	told := b.onSpent
	b.mu.Unlock()
	if told == nil || cost == (Spent{}) {
		return
	}
	b.telling.Lock()
	defer b.telling.Unlock()
	told(b.Spent())
}

// BudgetError says that a budget admits no further call. Trying again is
// useless until the budget is raised, or a call that holds a part of it ends.
type BudgetError struct {
	Budget string `json:"budget"`
	Kind   string `json:"kind"` // "calls", "tokens" or "money", which is in micro-units
	Spent  int64  `json:"spent"`
	Held   int64  `json:"held,omitempty"` // by calls that run now
	Limit  int64  `json:"limit"`
}

const (
	kindCalls  = "calls"
	kindTokens = "tokens"
	kindMoney  = "money"
)

func (e *BudgetError) Error() string {
	show := func(n int64) string { return strconv.FormatInt(n, 10) }
	if e.Kind == kindMoney {
		show = money
	}
	text := fmt.Sprintf("budget %q is spent: %s of %s %s", e.Budget, show(e.Spent), show(e.Limit), e.Kind)
	if e.Held > 0 {
		text += fmt.Sprintf(", and %s held by calls that run now", show(e.Held))
	}
	return text + ": raise it, or start under another budget"
}

// Temporary is false.
func (e *BudgetError) Temporary() bool { return false }

var _ runtime.Coded = (*BudgetError)(nil)

// Code is "budget_spent".
func (e *BudgetError) Code() string { return "budget_spent" }
