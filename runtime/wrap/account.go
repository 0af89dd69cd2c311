package wrap

import (
	"context"
	"errors"

	"usher/runtime"
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
// where there is one.
func (a *account) usage(ctx context.Context, price *Price) runtime.Usage {
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
	u := a.known
	u.Output = max(u.Output, tokens(a.output))
	if u.Input <= 0 {
		u.Input = a.input
	}
	if price != nil {
		u.Cost = max(u.Cost, price.cost(u))
	}
	return u
}

// tokens estimates: English and JSON have about four bytes in a token.
func tokens(bytes int) int { return (bytes + 3) / 4 }
