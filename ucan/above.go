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
	g := n.link.resolved.Load().grants[n.grant]
	if g.passes {
		g.owner, g.path, g.passes = s.need.owner, n.path, false
	}
	return g
}

// aboveJWT tries the proofs that a JWT names.
func (s *search) aboveJWT(ctx context.Context, at int, n *node) (root int) {
	r := n.link.resolved.Load()
	if len(r.parents) == 0 {
		s.fail(ErrForeignRoot, n.link, "it was issued by "+n.link.Issuer.s, n.depth)
		return -1
	}
	child := s.asks(n)
	for _, p := range r.parents {
		for i := range p.resolved.Load().grants {
			if root := s.try(ctx, p, i, at, n, &child); root >= 0 {
				return root
			}
		}
	}
	return -1
}

// above tries the tokens made out to aud that could be what n rests on, and
// returns the node of the first that is a root.
func (s *search) above(ctx context.Context, at int, n *node, aud DID) (root int, err error) {
	child := s.asks(n)
	if s.meet(state{aud: aud, path: pathKey(child.path), can: child.can, sub: n.sub, revoked: n.revoked}) {
		s.fail(ErrForeignRoot, n.link, "it was issued by "+aud.s+", and the way up from there leads nowhere", n.depth)
		return -1, nil
	}
	if len(s.pool) > 0 {
		if root := s.abovePool(ctx, at, n, aud, &child); root >= 0 || !s.stored {
			return root, nil
		}
	}
	if !s.stored {
		return -1, nil
	}
	a, err := s.v.Store.audience(ctx, aud)
	if err != nil {
		return -1, fmt.Errorf("search proofs: %w", err)
	}
	s.lists = a.on(place{child.owner, pathKey(child.path)}, s.lists[:0])
	any := false
	for _, list := range s.lists {
		for i := range list {
			ref := &list[i]
			if expired(ref.exp, s.now) || ref.exp < s.query.until { // so do those that follow
				s.inTime(ref.link, n.depth)
				break
			}
			if s.looks++; s.looks > s.v.Limits.search() {
				s.fail(ErrBudget, n.link, "", math.MaxInt)
				return -1, nil
			}
			any = true
			if root := s.try(ctx, ref.link, ref.grant, at, n, &child); root >= 0 {
				return root, nil
			}
		}
	}
	if l := a.tellRevoked(&child); l != nil {
		s.fail(ErrRevoked, l, "", n.depth)
	}
	switch {
	case n.link == nil:
		s.fail(ErrNotCovered, nil, "no valid token made out to the caller covers it", 0)
	case !any:
		s.fail(ErrForeignRoot, n.link, "it was issued by "+aud.s, n.depth)
	}
	return -1, nil
}

// abovePool is above for the tokens of the query.
func (s *search) abovePool(ctx context.Context, at int, n *node, aud DID, child *grant) (root int) {
	madeOut, unused := false, false
	for _, p := range s.pool {
		if p.Audience != aud {
			unused = unused || !s.onChain(at, p)
			continue
		}
		madeOut = true
		if root := s.tryAll(ctx, p, at, n, child); root >= 0 {
			return root
		}
	}
	switch {
	case madeOut:
	case n.link == nil:
		s.fail(ErrAudience, nil, "none of the tokens is made out to the caller, "+aud.s, 0)
	case unused:
		s.fail(ErrBrokenChain, n.link, "no proof is made out to "+aud.s, n.depth)
	default:
		s.fail(ErrForeignRoot, n.link, "it was issued by "+aud.s, n.depth)
	}
	return -1
}

// tryAll tries each capability of p, and says what they lack.
func (s *search) tryAll(ctx context.Context, p *Link, at int, n *node, child *grant) (root int) {
	r := p.resolved.Load()
	if r.err != nil {
		s.failWith(r.err, p, n.depth)
		return -1
	}
	tooWide, covered := ErrWidenedResource, false
	if n.link == nil {
		tooWide = ErrNotCovered
	}
	for i := range r.grants {
		g := &r.grants[i]
		if g.covers(child) {
			covered = true
			if root := s.try(ctx, p, i, at, n, child); root >= 0 {
				return root
			}
		} else if n.link != nil && g.coversResource(child) {
			tooWide = ErrWidenedAbility
		}
	}
	// Time and revocation are said first: they explain more.
	if !covered && s.holds(p, n.depth) {
		blame := n.link
		if blame == nil {
			blame = p
		}
		if bareElsewhere(p, r, child.owner) {
			blame, tooWide = p, ErrBareResource
		}
		s.fail(tooWide, blame, "", n.depth+1)
	}
	return -1
}

// bareElsewhere reports whether a token leaves a resource bare, and so speaks of
// its root issuer's namespace, where the owner is another: what it grants may look
// as if it covered the request.
func bareElsewhere(l *Link, r *resolved, owner DID) bool {
	for i := range l.grants {
		if l.grants[i].owner.IsZero() && !l.grants[i].passes && r.grants[i].owner != owner {
			return true
		}
	}
	return false
}

// try puts capability i of p above node at, if it holds and covers what is asked.
// It returns the new node where that is a root, else -1.
func (s *search) try(ctx context.Context, p *Link, i, at int, n *node, child *grant) (root int) {
	r := p.resolved.Load()
	if !r.grants[i].covers(child) {
		return -1
	}
	if !s.holds(p, n.depth) || !s.counts(ctx, p, n.depth) {
		return -1
	}
	next := node{link: p, grant: i, below: at, depth: n.depth + 1, path: child.path, can: child.can, sub: n.sub, revoked: n.revoked}
	isRoot := s.v.mayRoot(s.need.owner, p.Issuer)
	if p.Format == Native {
		isRoot = isRoot && p.Subject == p.Issuer
		switch {
		case !n.sub.IsZero() && n.sub != p.Subject:
			s.fail(ErrSubject, p, "", next.depth)
			return -1
		case p.Subject == p.Issuer && !isRoot:
			s.fail(ErrForeignRoot, p, "it was issued by "+p.Issuer.s, next.depth)
			return -1
		case p.Subject != s.need.owner && !s.v.mayRoot(s.need.owner, p.Subject):
			s.fail(ErrSubject, p, "", next.depth)
			return -1
		}
		next.sub = p.Subject
	} else if p.grants[i].owner.IsZero() && r.grants[i].owner == s.v.Self {
		// A venue issues for many owners, so what it leaves bare means nobody.
		s.fail(ErrBareResource, p, "a venue names the owner", next.depth)
		return -1
	}
	for j, d := range s.revokers {
		if next.revoked&(1<<j) == 0 && slices.Contains(s.revokedBy(p), d) {
			next.revoked |= 1 << j
		}
		if next.revoked&(1<<j) != 0 && p.issuedWithin(d) {
			s.fail(ErrRevoked, p, "", next.depth)
			return -1
		}
	}
	if !isRoot && p.Format == JWT && s.meet(state{link: p, path: pathKey(child.path), can: r.grants[i].can, sub: next.sub, revoked: next.revoked}) {
		return -1
	}
	if !isRoot {
		s.nodes = append(s.nodes, next)
		return -1
	}
	if !next.sub.IsZero() && next.sub != s.need.owner && next.sub != p.Issuer {
		s.fail(ErrSubject, p, "", next.depth)
		return -1
	}
	s.nodes = append(s.nodes, next)
	return len(s.nodes) - 1
}
