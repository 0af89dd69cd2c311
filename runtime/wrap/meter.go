package wrap

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"usher/runtime"
)

// Model returns m with its calls charged to b, and to the budgets of their
// contexts ([WithBudget]), each once. name is the model's for errors. With a
// price, what passes says what it costs ([runtime.Usage].Cost). A refused call
// fails with a *[BudgetError], or a *[PriceError] where a budget limits money
// and the model's price is not known.
//
// A call is counted when it begins. Its tokens are those that m reports; where
// m reports none of the request or of the answer, or the answer was cut or
// left, they are estimated from the bytes that passed, a token for four. A call that failed before it answered
// is charged no tokens, unless it was this side that gave up. An answer that
// [Cache] has kept or [Replay] gives is charged to nobody.
//
// Where metered models are stacked, each budget is charged by the outermost
// that knows it, and the cost is said by the innermost that has a price. One
// without a price goes by that of the model below it, or else by that of one
// around it.
func (b *Budget) Model(m runtime.Model, name string, price *Price) runtime.Model {
	return &metered{model: m, budget: b, name: name, price: price}
}

// Metered returns m with its calls charged to the budgets of their contexts
// alone, as [Budget.Model] says.
func Metered(m runtime.Model, name string, price *Price) runtime.Model {
	return &metered{model: m, name: name, price: price}
}

type metered struct {
	model  runtime.Model
	budget *Budget // may be nil
	name   string
	price  *Price // may be nil
}

var (
	_ runtime.Model   = (*metered)(nil)
	_ runtime.Wrapper = (*metered)(nil)
)

func (m *metered) Unwrap() runtime.Model { return m.model }

func (m *metered) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		a := account{input: runtime.EstimateTokens(req), left: true}
		c := m.call(ctx)
		if err := c.admit(ctx, a.input); err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		ctx := context.WithValue(ctx, callKey{}, c)
		defer func() { c.settle(a.usage(ctx, c.price)) }()
		for chunk, err := range m.model.Generate(ctx, req) {
			chunk.Usage = c.priced(chunk.Usage)
			a.add(&chunk, err)
			if !yield(chunk, err) || err != nil {
				return
			}
		}
		a.left = false
	}
}

// call is one call of a metered model. The calls below it find it in their
// context.
type call struct {
	outer   *call
	model   string
	given   *Price    // to this model by whoever made it; nil where none was
	price   *Price    // what it goes by: given, or that of models below or around it; may be nil
	budgets []*Budget // that it charges, ancestors included
	holds   []Spent   // in each of them that has admitted it

	free atomic.Bool // the answer was there already: see [waive]
	said atomic.Bool // what it costs has been said below
}

type callKey struct{}

func outerCall(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func (m *metered) call(ctx context.Context) *call {
	c := &call{outer: outerCall(ctx), model: m.name, given: m.price, price: priceOf(m)}
	for outer := c.outer; c.price == nil && outer != nil; outer = outer.outer {
		c.price = outer.given // not what it has from below: that is another model's
	}
	for _, b := range append([]*Budget{m.budget}, carried(ctx)...) {
		for ; b != nil; b = b.parent {
			if !c.charges(b) {
				c.budgets = append(c.budgets, b)
			}
		}
	}
	return c
}

// priceOf returns the first price that m or the models below it have, or nil.
func priceOf(m runtime.Model) *Price {
	at, ok := runtime.As[*metered](m)
	for ok && at.price == nil {
		at, ok = runtime.As[*metered](at.model)
	}
	if !ok {
		return nil
	}
	return at.price
}

// charges says that c or a call around it charges b.
func (c *call) charges(b *Budget) bool {
	return c != nil && (slices.Contains(c.budgets, b) || c.outer.charges(b))
}

// admit has all budgets hold what the call may cost, or none, and says which
// refused it, when it has waited for those that let it wait.
func (c *call) admit(ctx context.Context, input int) error {
	for at := c; at != nil && c.price == nil; at = at.outer { // an outer one charges what this one costs
		for _, b := range at.budgets {
			if b.Limits().Money != 0 {
				return &PriceError{b.name, c.model}
			}
		}
	}
	var late <-chan time.Time
	for {
		w, err := c.try(input)
		if err == nil || w.room == nil {
			return err
		}
		if late == nil {
			late = time.After(w.longest)
		}
		select {
		case <-w.room:
		case <-late:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try is one attempt to be admitted.
func (c *call) try(input int) (wait, error) {
	for _, b := range c.budgets {
		hold, w, err := b.admit(input, c.price)
		if err != nil {
			for i, hold := range c.holds {
				c.budgets[i].settle(hold, Spent{}, 0)
			}
			c.holds = nil
			return w, err
		}
		c.holds = append(c.holds, hold)
	}
	for _, b := range c.budgets {
		b.tell()
	}
	return wait{}, nil
}

// priced returns u with its cost.
func (c *call) priced(u *runtime.Usage) *runtime.Usage {
	if u == nil || c.price == nil || c.said.Load() {
		return u
	}
	for outer := c.outer; outer != nil; outer = outer.outer {
		outer.said.Store(true)
	}
	with := *u
	with.Cost = c.price.cost(with)
	return &with
}

func (c *call) settle(u runtime.Usage) {
	cost, answer := charge(u), u.Output
	if c.free.Load() {
		cost, answer = Spent{}, 0
	}
	for i, hold := range c.holds {
		c.budgets[i].settle(hold, cost, answer)
		c.budgets[i].tell()
	}
}

// waive says to the metered calls around ctx that nothing was asked of a
// provider for the answer that they pass on, whatever usage it tells of.
func waive(ctx context.Context) {
	for c := outerCall(ctx); c != nil; c = c.outer {
		c.free.Store(true)
		c.said.Store(true)
	}
}
