package wrap

import (
	"context"
	"errors"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/tools/spend"
)

// Meter returns m with its calls charged to the budgets of their contexts
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
func Meter(m runtime.Model, name string, price *spend.Price) runtime.Model {
	if _, done := runtime.As[*meter](m); done || replays(m) {
		return m
	}
	return &meter{over{m, func(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool) {
		a := account{input: runtime.EstimateTokens(req), left: true, price: price, yield: yield}
		hold, err := spend.Take(ctx, runtime.Budgets(ctx), spend.Call{Model: name, Input: a.input, Price: price})
		if err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		defer func() { hold.Settle(a.usage(ctx, price)) }()
		runtime.Keep(ctx)
		m.Generate(ctx, req)(a.pass) // a loop over it would cost more
		a.left = a.over
	}}, name, price != nil}
}

type meter struct {
	over
	name   string
	priced bool // it says what calls cost
}

// withBudget returns m with its calls charged to a budget too.
func withBudget(m runtime.Model, budget *spend.Budget) runtime.Model {
	return &over{m, func(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool) {
		m.Generate(runtime.WithBudgets(ctx, budget), req)(yield)
	}}
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

	price *spend.Price
	yield func(runtime.Chunk, error) bool
	over  bool // no more of the answer is taken
}

// pass counts a piece of the answer and passes it on.
func (a *account) pass(chunk runtime.Chunk, err error) bool {
	if a.over {
		return false // it goes on though it was told to stop
	}
	if chunk.Usage != nil && a.price != nil {
		priced := *chunk.Usage
		priced.Cost = a.price.Cost(priced)
		chunk.Usage = &priced
	}
	a.err = err
	a.output += len(chunk.Text) + len(chunk.Reasoning)
	if chunk.Call != nil {
		a.output += len(chunk.Call.ID) + len(chunk.Call.Name) + len(chunk.Call.Arguments)
	}
	if chunk.Usage != nil {
		a.known = *chunk.Usage
	}
	a.begun = a.begun || mayAct(&chunk) || chunk.Usage != nil
	a.finished = a.finished || chunk.Finish != ""
	a.over = !a.yield(chunk, err) || err != nil
	return !a.over
}

// usage is what the call has used as far as can be known, at the model's price
// where there is one. Each part that was not reported, or as nothing, is
// estimated: a server that counts requests only would give answers away.
func (a *account) usage(ctx context.Context, price *spend.Price) runtime.Usage {
	late := errors.Is(a.err, endpoint.ErrTimeout) // it was this side that gave up
	if a.err != nil && !a.begun && !late && ctx.Err() == nil {
		return runtime.Usage{} // refused before it was worked on
	}
	u := a.known
	complete := a.err == nil && (!a.left && ctx.Err() == nil || a.finished)
	if u.Output <= 0 || !complete {
		// What a cut stream has reported is its total so far, often of the time
		// before the first word.
		u.Output = max(u.Output, tokens(a.output))
	}
	if u.Input <= 0 {
		u.Input = a.input
	}
	if price != nil && u != a.known {
		u.Cost = max(u.Cost, price.Cost(u))
	}
	return u
}

// tokens estimates: English and JSON have about four bytes in a token.
func tokens(bytes int) int { return (bytes + 3) / 4 }
