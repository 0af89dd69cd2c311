package spend

import (
	"sync"
	"time"
)

// Budget bounds what calls of models may spend: for a run, a session, an agent.
// A call is admitted while something is left, and charged when its usage is
// known, so a budget ends at most one call beyond its limit. Of calls that run
// at once, each holds until it is charged: itself, the estimated size of its
// request, and an answer as large as the largest so far, at least of 10,000
// tokens. So they go beyond the limit together by no more than what their
// answers are larger than that; and where less is left, one runs at a time, and
// the others are refused or wait ([Budget.Wait]).
//
// A Budget is in memory alone. It is safe for concurrent use.
type Budget struct {
	name, account string

	mu     sync.Mutex // never held together with another budget's
	limits Limits
	spent  Amount
	held   Amount // by the calls that run now
	answer int    // tokens of the largest answer so far

	patience time.Duration // see Wait
	room     chan struct{} // closed when a call may fit that did not; nil while nobody waits
}

// NewBudget returns a budget. Its name is what errors tell.
func NewBudget(name string, limits Limits) *Budget {
	return &Budget{name: name, limits: limits}
}

// NewAccount returns a budget that outlives its process, of which past is spent
// already. account is what the one who keeps it knows it by.
func NewAccount(account, name string, limits Limits, past Amount) *Budget {
	return &Budget{name: name, account: account, limits: limits, spent: Amount{}.plus(past)}
}

// Account is what the one who keeps the budget knows it by; "" where it ends with
// its process.
func (b *Budget) Account() string { return b.account }

// Limits are what may be spent.
func (b *Budget) Limits() Limits {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limits
}

// SetLimits changes the limits, for the calls that begin after it.
func (b *Budget) SetLimits(limits Limits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limits = limits
	b.wake()
}

// Wait has a call wait for those that run now, at most so long, where only what
// they hold leaves no room for it. 0, as at first, refuses it at once.
//
// The bound is for a call that is made while the consumer of another one, which
// holds the rest, waits for it.
func (b *Budget) Wait(longest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.patience = longest
}

// wake has those try again that wait for room. The caller holds mu.
func (b *Budget) wake() {
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
}

// Amount returns what has been spent so far.
func (b *Budget) Amount() Amount {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// Total returns what has been spent, with what the calls that run now hold: what
// a process that is killed now has spent at most.
func (b *Budget) Total() Amount {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent.plus(b.held)
}

// answerHold is the least that is held for an answer, in tokens: longer ones
// are rare, and how long one gets is not known before it ends.
const answerHold = 10_000

// admit holds what a call may cost, and returns that, or says why the call is
// refused; w where it may wait. While nothing is held, it admits a call that
// may cost more than what is left.
func (b *Budget) admit(c *Call) (hold Amount, w wait, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limits.Money != 0 && c.Price == nil {
		return Amount{}, wait{}, &PriceError{b.name, c.Model}
	}
	spent, held := b.spent.kinds(), b.held.kinds()
	for i, limit := range Amount(b.limits).kinds() {
		if limit == 0 || plus(spent[i], held[i]) < max(limit, 0) {
			continue
		}
		if b.patience > 0 && spent[i] < limit {
			if b.room == nil {
				b.room = make(chan struct{})
			}
			w = wait{b.room, b.patience}
		}
		refused := &BudgetError{Budget: b.name, Kind: kinds[i], Spent: display(i, spent[i]), Limit: display(i, max(limit, 0))}
		if held[i] > 0 {
			refused.Held = display(i, held[i])
		}
		return Amount{}, w, refused
	}
	u := Usage{Input: c.Input, Output: max(b.answer, answerHold)}
	if c.Price != nil {
		u.Cost = c.Price.Cost(u)
	}
	hold = u.amount()
	b.held = b.held.plus(hold)
	return hold, wait{}, nil
}

// wait is until when a refused call may wait; the zero value is not at all.
type wait struct {
	room    <-chan struct{}
	longest time.Duration
}

// settle gives back what a call held and charges what it cost; nothing is a
// call that was not made. answer is the size of its answer in tokens.
func (b *Budget) settle(hold, cost Amount, answer int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = max(b.answer, answer)
	b.held = b.held.minus(hold)
	b.spent = b.spent.plus(cost)
	b.wake()
}
