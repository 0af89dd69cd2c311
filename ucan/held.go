package ucan

import (
	"cmp"
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
				grants = v.within(ctx, grants, &grants[i], agentSignature{signed.Issuer, signed.Audience, refused.Detail}, caller)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if chain.Conditional() {
			continue
		}
		held = append(held, Holding{grants[i].shown, grants[i].owner, chain.expires()})
	}
	return held, nil
}

// Delegations lists what a principal may do in the namespace of another by
// delegation, see [Verifier.Holdings].
func (v *Verifier) Delegations(ctx context.Context, audience, owner DID) ([]caps.Capability, error) {
	held, err := v.Holdings(ctx, audience, owner, 0)
	list := make([]caps.Capability, len(held))
	for i := range held {
		list[i] = held[i].Capability
	}
	return list, err
}

// Effective lists what a token gives, with the owners of the resources, as far as
// stored tokens tell: for one that passes on what its proof gives, the resources of
// the tokens above it. Whether it counts is for [Verifier.Authorize] to say.
func (v *Verifier) Effective(ctx context.Context, l *Link) (list []caps.Capability, err error) {
	grants := l.grants
	if r := l.resolved.Load(); r != nil && r.err == nil {
		grants = r.grants
	}
	var given []grant
	for _, g := range grants {
		if given, err = v.gives(ctx, l, g, nil, given, map[DID]bool{}); err != nil {
			return nil, err
		}
	}
	for i := range given {
		list = append(list, given[i].shown)
	}
	return list, nil
}

// gives appends what a capability of l gives, spelt with its owner and each once:
// for one that passes on what its proof gives, what the tokens above it give. It
// leaves out what skip tells it to, if that is not nil, and ends at a bound.
func (v *Verifier) gives(ctx context.Context, l *Link, g grant, skip func(*grant) bool, to []grant, seen map[DID]bool) ([]grant, error) {
	switch {
	case len(to) >= maxAsked:
		return to, nil
	case !g.passes || v.Store == nil:
		if skip == nil || !skip(&g) {
			to = appendGrant(to, g)
		}
		return to, nil
	case seen[l.Issuer]:
		return to, nil
	}
	seen[l.Issuer] = true
	a, err := v.Store.audience(ctx, l.Issuer)
	if err != nil {
		return to, err
	}
	for _, r := range a.all() {
		above := *r.at()
		if !above.can.Covers(g.can) || r.link.Format == Native && r.link.Subject != l.Subject {
			continue
		}
		above.can = g.can
		if to, err = v.gives(ctx, r.link, above, skip, to, seen); err != nil {
			return to, err
		}
	}
	return to, nil
}

// claims lists what the tokens made out to a principal say, as far as it is asked
// about: those of roots first, then those that end last, up to a bound.
func (v *Verifier) claims(ctx context.Context, caller, owner DID) (grants []grant, err error) {
	a, err := v.Store.audience(ctx, caller)
	if err != nil {
		return nil, err
	}
	ofOthers := func(r ref) int {
		if v.mayRoot(r.at().owner, r.link.Issuer) {
			return 0
		}
		return 1
	}
	elsewhere := func(g *grant) bool {
		return g.owner == caller || g.owner.IsZero() || !owner.IsZero() && g.owner != owner
	}
	all := a.all()
	slices.SortFunc(all, func(x, y ref) int { return cmp.Or(ofOthers(x)-ofOthers(y), later(x, y)) })
	for _, r := range all {
		if isExpired(r.exp, v.now()) {
			continue
		}
		if grants, err = v.gives(ctx, r.link, *r.at(), elsewhere, grants, map[DID]bool{}); err != nil {
			return nil, err
		}
	}
	return grants, nil
}

// appendGrant adds a capability, spelt with its owner, unless it is there. One of an
// unknown owner, and a URI, which cannot stand below a DID, keep their spelling.
func appendGrant(list []grant, g grant) []grant {
	if slices.ContainsFunc(list, func(h grant) bool { return h.owner == g.owner && h.path == g.path && h.can == g.can }) {
		return list
	}
	if c, err := caps.NewCapability(absolute(g.owner, g.path), string(g.can)); err == nil && !g.owner.IsZero() {
		g.shown = c
	}
	return append(list, g)
}

// within appends the parts of g that an agent holds.
func (v *Verifier) within(ctx context.Context, list []grant, g *grant, by agentSignature, caller DID) []grant {
	set, principal := v.Signer(ctx, by.issuer, by.audience, by.agent)
	for c := range caps.Of(g.shown).In(principal.s).Intersect(set).AsSeenBy(caller.s, principal.s).All() {
		if part, err := newGrant(c.With(), string(c.Can())); err == nil && part.owner == g.owner && !c.Denies() {
			list = appendGrant(list, part)
		}
	}
	return list
}
