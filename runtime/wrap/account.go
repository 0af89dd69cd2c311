package wrap

import (
	"context"
	"errors"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/tools/spend"
)

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
