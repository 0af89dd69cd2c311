package venue

import (
	"context"

	"usher/caps"
)

// Narrow returns the principal reduced to what set allows too.
func (p *Principal) Narrow(set caps.Set) *Principal {
	mine := *p
	mine.auth = p.auth.Narrow(set)
	return &mine
}

// AsRelay returns the principal as a program has it that speaks for them, such as a client of
// MCP: what is the word of a person, approvals and tokens among it, is not its to say.
func (p *Principal) AsRelay() *Principal {
	mine := *p
	mine.auth = p.auth.AsRelay()
	return &mine
}

// As returns the principal as the agent of the id: bounded by what the agent may do, as
// that is at each call. Only its owner in person may take it on.
func (p *Principal) As(ctx context.Context, agent string) (*Principal, error) {
	if err := p.valid(ctx); err != nil {
		return nil, err
	}
	if !p.auth.IsUnbounded() {
		return nil, errBounded
	}
	auth, err := p.agents.Authority(ctx, p.DID(), agent)
	if err != nil {
		return nil, err
	}
	mine := *p
	mine.auth = auth
	return &mine, nil
}
