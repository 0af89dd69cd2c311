package ucan

import "slices"

// resolution is what a token's proofs say about it, apart from the time, the
// revocations and the roots. It follows from the content of the token and its
// proofs alone, so it is worked out once.
type resolution struct {
	parents   []*Link
	grants    []grant // owners filled in; a bare one of unknown owner stays zero
	bareOwner DID     // the root issuer, where all proofs agree on one
	depth     int     // tokens on the longest way to a root
	count     int     // tokens on all ways, one met twice counted twice
	err       error
}

// maxProofs bounds count. Tokens that name their proofs by CID can share them, so
// that few of them make more ways than anybody could walk.
const maxProofs = 256

// resolve finds the proofs of a JWT and checks each hop: the proof is made out to
// the issuer, outlives the token, and covers each of its capabilities, in both
// parts, by one of its own. find gives proofs by CID; nil finds none.
//
// COG-13 verifies every proof that a token names, so one bad proof refuses the
// token even where the others would do.
func (l *Link) resolve(find func(CID) (*Link, error)) (*resolution, error) {
	if r := l.resolved.Load(); r != nil {
		return r, r.err
	}
	r := &resolution{depth: 1, count: 1}
	if len(l.Proofs) == 0 {
		r.bareOwner = l.Issuer
	}
	for i, c := range l.Proofs {
		var p *Link
		if at := slices.IndexFunc(l.Inline, func(p *Link) bool { return p.CID == c }); at >= 0 {
			p = l.Inline[at]
		} else if find == nil {
			return nil, &VerifyError{Err: ErrMissingProof, CID: c}
		} else if found, err := find(c); err != nil {
			return nil, err
		} else {
			p = found
		}
		pr, err := p.resolve(find)
		if err != nil {
			return nil, err
		}
		r.parents = append(r.parents, p)
		r.depth = max(r.depth, 1+pr.depth)
		r.count += pr.count
		if i == 0 {
			r.bareOwner = pr.bareOwner
		} else if r.bareOwner != pr.bareOwner {
			r.bareOwner = DID{}
		}
	}
	r.grants = make([]grant, len(l.grants))
	for i, g := range l.grants {
		if g.owner.IsZero() {
			g.owner = r.bareOwner
		}
		r.grants[i] = g
	}
	r.err = l.checkHops(r)
	l.resolved.Store(r)
	return r, r.err
}

func (l *Link) checkHops(r *resolution) error {
	switch {
	case r.depth > maxChain:
		return &VerifyError{Err: ErrTooDeep, CID: l.CID}
	case r.count > maxProofs:
		return &VerifyError{Err: ErrBudget, CID: l.CID, Detail: "its proofs have too many proofs"}
	}
	for _, p := range r.parents {
		if p.Audience != l.Issuer {
			return &VerifyError{Err: ErrBrokenChain, CID: l.CID, Detail: "issued by " + l.Issuer.s + ", a proof is made out to " + p.Audience.s}
		}
		if p.nbf > l.nbf || l.exp > p.exp {
			return &VerifyError{Err: ErrTimeBounds, CID: l.CID}
		}
	}
	if len(r.parents) == 0 {
		return nil
	}
	for i := range r.grants {
		g := &r.grants[i]
		if g.owner == l.Issuer {
			continue // the owner needs no proof
		}
		if err := checkCover(g, r.parents); err != nil {
			return &VerifyError{Err: err, CID: l.CID, Detail: g.shown.String()}
		}
	}
	return nil
}

// checkCover returns nil if one capability of one parent covers g, or else which
// part is too wide.
func checkCover(g *grant, parents []*Link) error {
	if g.owner.IsZero() {
		return ErrBareResource
	}
	err := ErrWidenedResource
	for _, p := range parents {
		pr := p.resolved.Load()
		for i := range pr.grants {
			if pg := &pr.grants[i]; pg.covers(g) {
				return nil
			} else if pg.coversResource(g) {
				err = ErrWidenedAbility
			}
		}
	}
	return err
}

// each calls fn for a token and, as far as they are resolved, for its proofs.
func (l *Link) each(fn func(*Link)) {
	fn(l)
	if r := l.resolved.Load(); r != nil {
		for _, p := range r.parents {
			p.each(fn)
		}
	}
}

// isIssuedWithin reports whether d issued the token or one of its proofs.
func (l *Link) isIssuedWithin(d DID) (within bool) {
	l.each(func(l *Link) { within = within || l.Issuer == d })
	return within
}

// owners lists whose namespaces a token grants on, as far as its proofs are known.
func (l *Link) owners() (owners []DID) {
	if r := l.resolved.Load(); r != nil {
		for _, g := range r.grants {
			if !g.owner.IsZero() && !slices.Contains(owners, g.owner) {
				owners = append(owners, g.owner)
			}
		}
	}
	return owners
}
