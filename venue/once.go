package venue

import (
	"context"
	"crypto/sha256"
	"time"

	"usher/venue/replies"
)

// Once begins a request of the principal that carries a key, or returns what was answered
// to it before: see [replies.Room.Begin]. digest is of all that it asks for. By which token the
// principal came is no part of it.
func (p *Principal) Once(ctx context.Context, key string, digest [sha256.Size]byte) (*replies.Ticket, *replies.Reply, error) {
	if err := p.valid(ctx); err != nil {
		return nil, nil, err
	}
	within, err := p.auth.WithProofEnd(time.Unix(0, 0)).WithBearer("").MarshalJSON()
	if err != nil {
		return nil, nil, err
	}
	return p.replies.Begin(ctx, &replies.Request{Owner: p.DID(), By: p.auth.Who(), Within: within, Key: key, Digest: digest, Until: p.auth.ProofEnd()})
}

// WithName returns the principal with a name for what it calls: an operation that does once
// what is asked twice under one key, such as grid:invoke, does it once under the name.
func (p *Principal) WithName(name string) *Principal {
	named := *p
	named.key = name
	return &named
}
