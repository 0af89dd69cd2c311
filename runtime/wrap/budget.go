package wrap

import (
	"math"
	"sync"
	"time"

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

// Plus returns the sum.
func (s Spent) Plus(t Spent) Spent {
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
// known, so a budget ends at most one call beyond its limit. Of calls that run
// at once, each holds until it is charged: itself, the estimated size of its
// request, and an answer as large as the largest so far, at least of 10,000
// tokens. So they go beyond the limit together by no more than what their
// answers are larger than that; and where less is left, one runs at a time, and
// the others are refused or wait ([Budget.Wait]). A Budget is safe for
// concurrent use.
type Budget struct {
	name   string
	parent *Budget

	telling sync.Mutex // held while onSpent runs, and taken before mu
	mu      sync.Mutex // guards what follows; never held together with another budget's
	limits  BudgetLimits
	spent   Spent
	held    Spent // by the calls that run now
	answer  int   // tokens of the largest answer so far
	onSpent func(spent, held Spent)

	patience time.Duration // see Wait
	room     chan struct{} // closed when a call may fit that did not; nil while nobody waits
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
	b.wake()
}

// Wait has a call wait for those that run now, at most so long, where only what
// they hold leaves no room for it. 0, as at first, refuses it at once.
//
// The bound is for who asks a model while an answer of another is underway that
// waits for it.
func (b *Budget) Wait(longest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.patience = longest
}

// modelWait is for the budget that a model is configured with.
const modelWait = time.Minute

// wake has those try again that wait for room. The caller holds mu.
func (b *Budget) wake() {
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
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
	b.spent = Spent{}.Plus(spent)
}

// OnSpent has f called with what is spent, and what the calls that run now hold
// beyond that: before each call is made, and when it was charged, before the
// model's answer ends. Who keeps the sum for another process forgets no call of
// one that is killed. There is one f; nil is none.
//
// Calls of f come one after the other, and each reads the total when its turn
// has come, so that the last one sees the largest. The budget itself is not
// locked meanwhile, so f may ask it what it likes; but f must not call a model
// that b bounds, as that call would wait for f to end.
func (b *Budget) OnSpent(f func(spent, held Spent)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onSpent = f
}

// answerHold is the least that is held for an answer, in tokens: longer ones
// are rare, and how long one gets is not known before it ends.
const answerHold = 10_000

// admit holds what a call may cost, and returns that, or says why the call is
// refused; w where it may wait. While nothing is held, it admits a call that
// may cost more than what is left.
func (b *Budget) admit(input int, price *Price) (hold Spent, w wait, err error) {
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
			if b.patience > 0 && l.spent < l.limit {
				if b.room == nil {
					b.room = make(chan struct{})
				}
				w = wait{b.room, b.patience}
			}
			return Spent{}, w, &BudgetError{b.name, l.kind, l.spent, l.held, max(l.limit, 0)}
		}
	}
	u := runtime.Usage{Input: input, Output: max(b.answer, answerHold)}
	if price != nil {
		u.Cost = price.cost(u)
	}
	hold = charge(u)
	b.held = b.held.Plus(hold)
	return hold, wait{}, nil
}

// wait is until when a refused call may wait; the zero value is not at all.
type wait struct {
	room    <-chan struct{}
	longest time.Duration
}

// settle gives back what a call held and charges what it cost; nothing is a
// call that was not made. answer is the size of its answer in tokens.
func (b *Budget) settle(hold, cost Spent, answer int) {
	b.mu.Lock()
	b.answer = max(b.answer, answer)
	b.held = b.held.minus(hold)
	b.spent = b.spent.Plus(cost)
	b.wake()
	b.mu.Unlock()
}

// tell calls what OnSpent was given.
func (b *Budget) tell() {
	b.mu.Lock()
	told := b.onSpent
	b.mu.Unlock()
	if told == nil {
		return
	}
	b.telling.Lock()
	defer b.telling.Unlock()
	b.mu.Lock()
	spent, held := b.spent, b.held
	b.mu.Unlock()
	told(spent, held)
}
