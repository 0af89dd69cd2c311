package wrap

import (
	"context"
	"iter"

	"usher/runtime"
	"usher/tools/spend"
)

// Metered returns m with its calls charged to the budgets of their contexts
// ([runtime.WithBudgets]). name is the model's for errors. With a price, what
// passes says what it costs ([spend.Usage].Cost). A refused call fails with a
// *[spend.BudgetError], or a *[spend.PriceError] where a budget limits money and
// the model's price is not known.
//
// A call is counted when it begins. Its tokens are those that m reports; where
// m reports none of the request or of the answer, or the answer was cut or
// left, they are estimated from the bytes that passed, a token for four. A call
// that failed before it answered is charged no tokens, unless it was this side
// that gave up.
//
// A model is metered once, next to its provider: one that is metered below
// already, or that answers from a cassette, is returned as it is.
func Metered(m runtime.Model, name string, price *spend.Price) runtime.Model {
	if _, done := runtime.As[*metered](m); done || replays(m) {
		return m
	}
	return &metered{over{m}, name, price}
}

type metered struct {
	over
	name  string
	price *spend.Price // may be nil
}

func (m *metered) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		a := account{input: runtime.EstimateTokens(req), left: true}
		hold, err := spend.Take(ctx, runtime.Budgets(ctx), spend.Call{Model: m.name, Input: a.input, Price: m.price})
		if err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		defer func() { hold.Settle(a.usage(ctx, m.price)) }()
		runtime.Keep(ctx)
		for chunk, err := range m.Model.Generate(ctx, req) {
			if chunk.Usage != nil && m.price != nil {
				priced := *chunk.Usage
				priced.Cost = m.price.Cost(priced)
				chunk.Usage = &priced
			}
			a.add(&chunk, err)
			if !yield(chunk, err) || err != nil {
				return
			}
		}
		a.left = false
	}
}

// bounded is a model whose calls are charged to a budget too.
type bounded struct {
	over
	budget *spend.Budget
}

func (b bounded) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return b.Model.Generate(runtime.WithBudgets(ctx, b.budget), req)
}
