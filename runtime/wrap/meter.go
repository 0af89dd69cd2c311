package wrap

import (
	"context"
	"errors"
	"iter"
	"slices"

	"usher/runtime"
)

// Model returns m with its calls charged to b, and to the budgets of their
// contexts ([WithBudget]), each once. The prices are found under the given
// name. A refused call fails with a *[BudgetError] or a *[PriceError].
//
// A call is counted when it begins. Its tokens are those that m reports; where
// m reports none, or the answer was cut or left, they are estimated from the
// bytes that passed, a token for four. A call that failed before it answered
// is charged no tokens, unless it was this side that gave up.
//
// Where metered models are stacked, each budget is charged by the outermost
// that knows it.
func (b *Budget) Model(m runtime.Model, price string) runtime.Model {
	return &metered{m, b, price}
}

// Metered returns m with its calls charged to the budgets of their contexts
// alone.
func Metered(m runtime.Model, price string) runtime.Model {
	return &metered{m, nil, price}
}

type metered struct {
	model  runtime.Model
	budget *Budget // may be nil
	price  string
}

var _ runtime.Model = (*metered)(nil)

// chargedKey holds the budgets that an outer metered model charges for a call.
type chargedKey struct{}

func (m *metered) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		charged, _ := ctx.Value(chargedKey{}).([]*Budget)
		budgets := m.budgets(ctx, charged)
		if len(budgets) > 0 {
			ctx = context.WithValue(ctx, chargedKey{}, append(slices.Clip(charged), budgets...))
		}
		input := size(req)
		bill, err := admit(budgets, m.price, runtime.Usage{Input: input})
		if err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		a := account{input: input, left: true}
		defer func() { bill.settle(a.usage(ctx)) }()
		for chunk, err := range m.model.Generate(ctx, req) {
			a.add(&chunk, err)
			if !yield(chunk, err) || err != nil {
				return
			}
		}
		a.left = false
	}
}

// budgets returns all that a call is to be charged to, ancestors included.
func (m *metered) budgets(ctx context.Context, charged []*Budget) []*Budget {
	var all []*Budget
	add := func(b *Budget) {
		for ; b != nil; b = b.parent {
			if !slices.Contains(charged, b) && !slices.Contains(all, b) {
				all = append(all, b)
			}
		}
	}
	add(m.budget)
	carried, _ := ctx.Value(budgetKey{}).([]*Budget)
	for _, b := range carried {
		add(b)
	}
	return all
}

// bill is one admitted call and what it holds of each budget.
type bill struct {
	budgets []*Budget
	model   string
	hold    runtime.Usage
}

// admit counts the call in all budgets, or in none and says which refused it.
func admit(budgets []*Budget, model string, hold runtime.Usage) (bill, error) {
	call := bill{budgets, model, hold}
	for i, b := range budgets {
		b.mu.Lock()
		err := b.admits(model)
		if err == nil {
			cost := b.cost(model, hold)
			b.spent.Calls = plus(b.spent.Calls, 1)
			b.held.Tokens = plus(b.held.Tokens, cost.Tokens)
			b.held.Money = plus(b.held.Money, cost.Money)
		}
		b.mu.Unlock()
		if err != nil {
			for _, b := range budgets[:i] {
				b.mu.Lock()
				b.spent.Calls--
				call.release(b)
				b.mu.Unlock()
			}
			return bill{}, err
		}
	}
	return call, nil
}

func (c bill) release(b *Budget) {
	cost := b.cost(c.model, c.hold)
	b.held.Tokens = max(b.held.Tokens-cost.Tokens, 0) // less than nothing would let a call too many in
	b.held.Money = max(b.held.Money-cost.Money, 0)
}

func (c bill) settle(u runtime.Usage) {
	for _, b := range c.budgets {
		cost := b.cost(c.model, u)
		b.mu.Lock()
		c.release(b)
		b.spent.Tokens = plus(b.spent.Tokens, cost.Tokens)
		b.spent.Money = plus(b.spent.Money, cost.Money)
		b.mu.Unlock()
	}
}

// account is what is known of a call's usage.
type account struct {
	input    int // estimated tokens of the request
	output   int // bytes of the answer
	known    runtime.Usage
	begun    bool
	finished bool
	left     bool // the sequence did not come to its own end
	err      error
}

func (a *account) add(c *runtime.Chunk, err error) {
	a.err = err
	a.output += len(c.Text) + len(c.Reasoning)
	if c.Call != nil {
		a.output += len(c.Call.ID) + len(c.Call.Name) + len(c.Call.Arguments)
	}
	if c.Usage != nil {
		a.known = *c.Usage
	}
	a.begun = a.begun || acted(c) || c.Usage != nil
	a.finished = a.finished || c.Finish != ""
}

func (a *account) usage(ctx context.Context) runtime.Usage {
	reported := a.known.Input > 0 || a.known.Output > 0
	complete := a.err == nil && (!a.left && ctx.Err() == nil || a.finished)
	_, late := errors.AsType[*TimeoutError](a.err)
	switch {
	case complete && reported:
		return a.known
	case a.err != nil && !a.begun && !late && ctx.Err() == nil:
		return runtime.Usage{} // refused before it was worked on
	}
	// What a cut stream has reported is its total so far, often of the time
	// before the first word.
	u := runtime.Usage{Input: a.known.Input, Output: max(a.known.Output, tokens(a.output))}
	if u.Input <= 0 {
		u.Input = a.input
	}
	return u
}

// tokens estimates: English and JSON have about four bytes in a token.
func tokens(bytes int) int { return (bytes + 3) / 4 }

// size estimates the tokens of a request.
func size(req *runtime.Request) int {
	n := len(req.System) + len(req.Output)
	for _, m := range req.Messages {
		n += len(m.Role) + len(m.Text) + len(m.CallID) + len(m.Name)
		for _, c := range m.Calls {
			n += len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	return tokens(n)
}
