package ucan

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// asks is what n needs of the token above it: all that it says, and where it says
// nothing of a resource, what is needed of itself.
func (s *search) asks(n *node) grant {
	if n.link == nil {
		return grant{owner: s.need.owner, path: n.path, can: n.can}
	}
	g := *n.at()
	if g.passes {
		g.owner, g.path, g.passes = s.need.owner, n.path, false
	}
	return g
}

// aboveJWT tries the proofs that a JWT names.
func (s *search) aboveJWT(ctx context.Context, at int, n *node) (root bool) {
	r := n.link.resolved.Load()
	if len(r.parents) == 0 {
		return s.fail(ErrForeignRoot, n.link, "it was issued by "+n.link.Issuer.s, n.depth)
	}
	child := s.asks(n)
	for _, p := range r.parents {
		for i := range p.resolved.Load().grants {
			if s.try(ctx, p, i, at, n, &child) {
				return true
			}
		}
	}
	return false
}

// above tries the tokens made out to aud that could be what n rests on, until one is
// a root.
func (s *search) above(ctx context.Context, at int, n *node, aud DID) (root bool, err error) {
	child := s.asks(n)
	switch {
	case s.meet(state{aud: aud, path: pathKey(child.path), can: child.can, sub: n.sub, revoked: n.revoked}):
		return s.fail(ErrForeignRoot, n.link, "it was issued by "+aud.s+", and the way up from there leads nowhere", n.depth), nil
	case len(s.pool) > 0 && s.abovePool(ctx, at, n, aud, &child):
		return true, nil
	case !s.stored:
		return false, nil
	}
	a, err := s.v.Store.audience(ctx, aud)
	if err != nil {
		return false, fmt.Errorf("search proofs: %w", err)
	}
	s.lists = a.on(place{child.owner, pathKey(child.path)}, s.lists[:0])
	any := false
	for _, list := range s.lists {
		for i := range list {
			ref := &list[i]
			if isExpired(ref.exp, s.now) || ref.exp < s.query.until { // so do those that follow
				s.inTime(ref.link, n.depth)
				break
			}
			if s.looks++; s.looks > s.v.Limits.search() {
				return s.fail(ErrBudget, n.link, "", math.MaxInt), nil
			}
			any = true
			if s.try(ctx, ref.link, ref.grant, at, n, &child) {
				return true, nil
			}
		}
	}
	if l := a.deadCover(&child); l != nil {
		s.fail(ErrRevoked, l, "", n.depth)
	}
	switch {
	case n.link == nil:
		s.fail(ErrNotCovered, nil, "no valid token made out to the caller covers it", 0)
	case !any:
		s.fail(ErrForeignRoot, n.link, "it was issued by "+aud.s, n.depth)
	}
	return false, nil
}

// abovePool is above for the tokens of the query.
func (s *search) abovePool(ctx context.Context, at int, n *node, aud DID, child *grant) (root bool) {
	madeOut, unused := false, false
	for _, p := range s.pool {
		if p.Audience != aud {
			unused = unused || !s.onChain(at, p)
			continue
		}
		madeOut = true
		if s.tryAll(ctx, p, at, n, child) {
			return true
		}
	}
	switch {
	case madeOut:
		return false
	case n.link == nil:
		return s.fail(ErrAudience, nil, "none of the tokens is made out to the caller, "+aud.s, 0)
	case unused:
		return s.fail(ErrBrokenChain, n.link, "no proof is made out to "+aud.s, n.depth)
	}
	return s.fail(ErrForeignRoot, n.link, "it was issued by "+aud.s, n.depth)
}

// tryAll tries each capability of p, and says what they lack.
func (s *search) tryAll(ctx context.Context, p *Link, at int, n *node, child *grant) (root bool) {
	r := p.resolved.Load()
	if r.err != nil {
		return s.failWith(r.err, p, n.depth)
	}
	tooWide, blame, covered := ErrWidenedResource, n.link, false
	if n.link == nil {
		tooWide, blame = ErrNotCovered, p
	}
	for i := range r.grants {
		g := &r.grants[i]
		if g.covers(child) {
			covered = true
			if s.try(ctx, p, i, at, n, child) {
				return true
			}
		} else if n.link != nil && g.coversResource(child) {
			tooWide = ErrWidenedAbility
		}
	}
	// Time and revocation are said first: they explain more.
	if covered || !s.holds(p, n.depth) {
		return false
	}
	if bareElsewhere(p, r, child.owner) {
		tooWide, blame = ErrBareResource, p
	}
	return s.fail(tooWide, blame, "", n.depth+1)
}

// bareElsewhere reports whether a token leaves a resource bare, and so speaks of
// its root issuer's namespace, where the owner is another: what it grants may look
// as if it covered the request.
func bareElsewhere(l *Link, r *resolution, owner DID) bool {
	for i := range l.grants {
		if l.grants[i].owner.IsZero() && !l.grants[i].passes && r.grants[i].owner != owner {
			return true
		}
	}
	return false
}

// try puts capability i of p above node at, if it holds and covers what is asked, and
// reports whether that is a root.
func (s *search) try(ctx context.Context, p *Link, i, at int, n *node, child *grant) (root bool) {
	r := p.resolved.Load()
	if !r.grants[i].covers(child) || !s.holds(p, n.depth) || !s.counts(ctx, p, n.depth) {
		return false
	}
	next := node{step: step{p, i}, below: at, depth: n.depth + 1, path: child.path, can: child.can, sub: n.sub, revoked: n.revoked}
	root = s.v.mayRoot(s.need.owner, p.Issuer)
	if p.Format == Native {
		root = root && p.Subject == p.Issuer
		switch {
		case !n.sub.IsZero() && n.sub != p.Subject:
			return s.fail(ErrSubject, p, "", next.depth)
		case p.Subject == p.Issuer && !root:
			return s.fail(ErrForeignRoot, p, "it was issued by "+p.Issuer.s, next.depth)
		case p.Subject != s.need.owner && !s.v.mayRoot(s.need.owner, p.Subject):
			return s.fail(ErrSubject, p, "", next.depth)
		}
		next.sub = p.Subject
	} else if p.grants[i].owner.IsZero() && r.grants[i].owner == s.v.Self {
		// A venue issues for many owners, so what it leaves bare means nobody.
		return s.fail(ErrBareResource, p, "a venue names the owner", next.depth)
	}
	for j, d := range s.revokers {
		if next.revoked&(1<<j) == 0 && slices.Contains(s.revokersOf(p), d) {
			next.revoked |= 1 << j
		}
		if next.revoked&(1<<j) != 0 && p.isIssuedWithin(d) {
			return s.fail(ErrRevoked, p, "", next.depth)
		}
	}
	switch {
	case root && !next.sub.IsZero() && next.sub != s.need.owner && next.sub != p.Issuer:
		return s.fail(ErrSubject, p, "", next.depth)
	case !root && p.Format == JWT && s.meet(state{link: p, path: pathKey(child.path), can: r.grants[i].can, sub: next.sub, revoked: next.revoked}):
		return false
	}
	s.nodes = append(s.nodes, next)
	return root
}
