package ucan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"usher/caps"
)

// Holding is one capability that a principal has by delegation, at the moment
// when it was asked for.
type Holding struct {
	Capability caps.Capability // the resource with its owner's DID
	Owner      DID
	Expires    time.Time // zero where no token of the chain expires
}

// Holdings lists what a principal may do in the namespaces of others by the
// stored tokens made out to them: the capabilities of the valid ones, each
// followed to its root. Tokens that are not valid now are left out, and so are
// those with conditions beyond their resource, since a list cannot show these. It
// looks at most at as many capabilities as most says; 0 is all.
func (v *Verifier) Holdings(ctx context.Context, caller DID, most int) ([]Holding, error) {
	if v.Store == nil {
		return nil, fmt.Errorf("list capabilities: %w", ErrNoStore)
	}
	var held []Holding
	looked := 0
	for l, err := range v.Store.ByAudience(ctx, caller) {
		if err != nil {
			return nil, err
		}
		r, err := l.resolve(v.Store.finder(ctx))
		var refused *VerifyError
		if errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range r.grants {
			g := &r.grants[i]
			if g.owner == caller || g.owner.IsZero() {
				continue
			}
			if looked++; most > 0 && looked > most {
				return held, nil
			}
			h, ok, err := v.holding(ctx, caller, g)
			if err != nil {
				return nil, err
			}
			if ok {
				held = append(held, h)
			}
		}
	}
	return held, nil
}

// holding follows one capability to its root.
func (v *Verifier) holding(ctx context.Context, caller DID, g *grant) (h Holding, ok bool, err error) {
	chain, err := v.Authorize(ctx, Query{Caller: caller, Owner: g.owner, Request: caps.NeedOn(g.can, g.path)})
	var refused *VerifyError
	if errors.As(err, &refused) {
		return h, false, nil
	}
	if err != nil || chain.conditional() {
		return h, false, err
	}
	h = Holding{Owner: g.owner}
	h.Expires, _ = chain.Expires()
	if h.Capability, err = caps.NewCapability(absolute(g.owner, g.path), string(g.can)); err != nil {
		return h, false, nil //nolint:nilerr // a URI below a DID has no absolute spelling to show
	}
	return h, true, nil
}

// Held returns what a principal may do in one namespace by delegation, see
// [Verifier.Holdings]; an owner may do everything there.
func (v *Verifier) Held(ctx context.Context, caller, owner DID) (caps.Set, error) {
	if caller == owner {
		return caps.Unrestricted(), nil
	}
	holdings, err := v.Holdings(ctx, caller, 0)
	var list []caps.Capability
	for _, h := range holdings {
		if h.Owner == owner {
			list = append(list, h.Capability)
		}
	}
	return caps.Of(list...), err
}
