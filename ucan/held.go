package ucan

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// maxAsked bounds the capabilities that one listing follows to their roots.
const maxAsked = 256

// Holdings lists what a principal may do in the namespaces of others, or in that
// of owner alone where it is not zero, by the stored tokens made out to them: what
// each gives along its chain, those of the owners themselves first. Tokens with
// conditions beyond their resource are left out, since a list cannot show these.
// It lists at most as many as most says; 0 is as many as there are, up to a bound.
func (v *Verifier) Holdings(ctx context.Context, caller, owner DID, most int) ([]Holding, error) {
	if v.Store == nil {
		return nil, fmt.Errorf("list capabilities: %w", errNoStore)
	}
	grants, err := v.claims(ctx, caller, owner)
	if err != nil {
		return nil, fmt.Errorf("list capabilities: %w", err)
	}
	var held []Holding
	for i := 0; i < len(grants) && i < maxAsked && (most == 0 || len(held) < most); i++ {
		chain, err := v.Authorize(ctx, Query{Caller: caller, Owner: grants[i].owner, Request: caps.NeedOn(grants[i].can, grants[i].path)})
		if refused, ok := errors.AsType[*VerifyError](err); ok {
			if errors.Is(refused.Err, ErrAgent) { // it counts as far as the agent's own go
				signed, err := v.Store.Get(ctx, refused.CID)
				if err != nil {
					return nil, fmt.Errorf("list capabilities: %w", err)
				}
				grants = v.within(ctx, grants, &grants[i], signedBy{signed.Issuer, refused.Detail}, caller)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if chain.Conditional() {
			continue
		}
		h := Holding{Owner: grants[i].owner, Capability: grants[i].shown}
		h.Expires = chain.Expires()
		held = append(held, h)
	}
	return held, nil
}

// Delegated lists what a principal may do in the namespace of another by
// delegation, see [Verifier.Holdings].
func (v *Verifier) Delegated(ctx context.Context, audience, owner DID) ([]caps.Capability, error) {
	held, err := v.Holdings(ctx, audience, owner, 0)
	list := make([]caps.Capability, len(held))
	for i := range held {
		list[i] = held[i].Capability
	}
	return list, err
}

// Effective lists what a token gives, with the owners of the resources, as far as stored tokens tell: for one that
// passes on what its proof gives, the resources of the tokens above it. Whether it
// counts is for [Verifier.Authorize] to say.
func (v *Verifier) Effective(ctx context.Context, l *Link) ([]caps.Capability, error) {
	var grants []grant
	r := l.resolved.Load()
	for i, g := range l.grants {
		if r != nil && r.err == nil {
			g = r.grants[i]
		}
		if g.passes && v.Store != nil {
			var err error
			if grants, err = v.sources(ctx, l, g.can, DID{}, grants, map[DID]bool{}); err != nil {
				return nil, err
			}
			continue
		}
		if c, err := caps.NewCapability(absolute(g.owner, g.path), string(g.can)); err == nil && !g.owner.IsZero() {
			g.shown = c
		}
		grants = append(grants, g)
	}
	list := make([]caps.Capability, len(grants))
	for i := range grants {
		list[i] = grants[i].shown
	}
	return list, nil
}

// claims lists what the tokens made out to a principal say, each capability once:
// those of roots first, then those that end last.
func (v *Verifier) claims(ctx context.Context, caller, owner DID) ([]grant, error) {
	a, err := v.Store.audience(ctx, caller)
	if err != nil {
		return nil, err
	}
	all := a.all()
	least := v.times(0).least
	all = slices.DeleteFunc(all, func(r ref) bool { return r.exp < least })
	first := func(r ref) int {
		if v.mayRoot(r.link.resolved.Load().grants[r.grant].owner, r.link.Issuer) {
			return 0
		}
		return 1
	}
	slices.SortFunc(all, func(x, y ref) int {
		if d := first(x) - first(y); d != 0 {
			return d
		}
		return later(x, y)
	})
	var grants []grant
	for _, r := range all {
		g := r.link.resolved.Load().grants[r.grant]
		switch {
		case g.passes:
			if grants, err = v.sources(ctx, r.link, g.can, owner, grants, map[DID]bool{}); err != nil {
				return nil, err
			}
		case g.owner == caller || g.owner.IsZero() || !owner.IsZero() && g.owner != owner:
		default:
			grants = appendGrant(grants, g)
		}
	}
	return slices.DeleteFunc(grants, func(g grant) bool { return g.owner == caller }), nil
}

// sources appends what the tokens above l give, for one that passes that on with
// the ability can.
func (v *Verifier) sources(ctx context.Context, l *Link, can caps.Ability, owner DID, to []grant, seen map[DID]bool) ([]grant, error) {
	if seen[l.Issuer] || len(to) >= maxAsked {
		return to, nil
	}
	seen[l.Issuer] = true
	a, err := v.Store.audience(ctx, l.Issuer)
	if err != nil {
		return to, err
	}
	for _, r := range a.all() {
		g := r.link.resolved.Load().grants[r.grant]
		if !g.can.Covers(can) || r.link.Format == Native && r.link.Subject != l.Subject {
			continue
		}
		if g.passes {
			if to, err = v.sources(ctx, r.link, can, owner, to, seen); err != nil {
				return to, err
			}
		} else if owner.IsZero() || g.owner == owner {
			g.can = can
			to = appendGrant(to, g)
		}
	}
	return to, nil
}

// appendGrant adds a capability, spelt with its owner, unless it is there. A URI
// below a DID has no such spelling.
func appendGrant(list []grant, g grant) []grant {
	if slices.ContainsFunc(list, func(h grant) bool { return h.owner == g.owner && h.path == g.path && h.can == g.can }) {
		return list
	}
	c, err := caps.NewCapability(absolute(g.owner, g.path), string(g.can))
	if err != nil {
		return list
	}
	g.shown = c
	return append(list, g)
}

// within appends the parts of g that an agent holds.
func (v *Verifier) within(ctx context.Context, list []grant, g *grant, by signedBy, caller DID) []grant {
	set, principal := v.Signer(ctx, by.issuer, by.agent)
	for c := range caps.Of(g.shown).In(principal.s).Intersect(set).SeenBy(caller.s, principal.s).All() {
		if part, err := newGrant(c.With(), string(c.Can())); err == nil && part.owner == g.owner {
			list = appendGrant(list, part)
		}
	}
	return list
}
