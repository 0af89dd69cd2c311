package ucan

import (
	"maps"
	"time"
)

func (w *walk) onChain(l *Link) bool {
	for i := range w.n {
		if w.chain[i].link == l {
			return true
		}
	}
	return false
}

// push checks a token on its own and puts it on the chain.
func (w *walk) push(l *Link, g int) bool {
	if w.onChain(l) {
		return w.fail(ErrCycle, l, "")
	}
	if w.n == w.v.Limits.chainDepth() {
		return w.fail(ErrTooDeep, l, "the chain has too many tokens (Limits.ChainDepth)")
	}
	if !w.inTime(l) {
		return false
	}
	// What its own issuer took back costs nothing: else a pile of revoked tokens
	// would hide a good one.
	for _, d := range w.revokers(l) {
		if d == l.iss || d == l.sub {
			return w.fail(ErrRevoked, l, "")
		}
	}
	if w.budget--; w.budget < 0 {
		return w.fail(ErrBudget, l, "")
	}
	if !l.verify() {
		return w.fail(ErrSignature, l, "")
	}
	w.chain[w.n] = step{l, g}
	w.n++
	return true
}

func (w *walk) inTime(l *Link) bool {
	switch {
	case !l.eternal && w.ceil > l.exp:
		return w.fail(ErrExpired, l, "")
	case !l.eternal && w.until > l.exp:
		return w.fail(ErrTimeBounds, l, "the proof ends at "+time.Unix(l.exp, 0).UTC().Format(time.RFC3339))
	case l.nbf != 0 && w.floor < l.nbf:
		return w.fail(ErrNotYetValid, l, "")
	case w.bounded && l.eternal:
		return w.fail(ErrLifetime, l, "it never expires (Limits.Life)")
	case w.bounded && l.exp > w.horizon:
		return w.fail(ErrLifetime, l, "it expires too far in the future (Limits.Life)")
	}
	return true
}

// climb puts capability g of l on the chain and looks for the rest of the way.
func (w *walk) climb(l *Link, g int) bool {
	if !w.push(l, g) {
		return false
	}
	r := l.resolved.Load()
	if w.proofsHold(l) {
		if w.rootedAt(l, r, g) {
			if w.finish() {
				return true
			}
		} else if w.higher(l, r, g) {
			return true
		}
	}
	w.n--
	return false
}

// proofsHold checks all that a JWT names as its proofs, used or not: COG-13
// verifies each parent, recursively.
func (w *walk) proofsHold(l *Link) bool {
	r := l.resolved.Load()
	if r.err != nil {
		return w.failWith(r.err, l)
	}
	if l.format == JWT && r.depth > w.v.Limits.jwtDepth() {
		return w.fail(ErrTooDeep, l, "the chain has too many tokens (Limits.JWTDepth)")
	}
	for _, d := range w.revokers(l) {
		if l.issuedWithin(d) {
			return w.fail(ErrRevoked, l, "")
		}
	}
	for _, p := range r.parents {
		if w.budget--; w.budget < 0 {
			return w.fail(ErrBudget, p, "")
		}
		if !w.inTime(p) {
			return false
		}
		if !p.verify() {
			return w.fail(ErrSignature, p, "")
		}
		if !w.proofsHold(p) {
			return false
		}
	}
	return true
}

// rootedAt reports whether the chain may begin with l.
func (w *walk) rootedAt(l *Link, r *resolved, g int) bool {
	if l.format == Native && l.sub != l.iss {
		return false
	}
	return w.v.mayRoot(r.grants[g].owner, l.iss)
}

// higher goes on to the proofs of l.
func (w *walk) higher(l *Link, r *resolved, g int) bool {
	child := &r.grants[g]
	switch {
	case l.format == Native && l.sub != l.iss:
		return w.above(l.iss, l, child)
	case len(r.parents) == 0:
		return w.fail(ErrForeignRoot, l, "it was issued by "+l.iss.s)
	}
	for _, p := range r.parents {
		pr := p.resolved.Load()
		for i := range pr.grants {
			if pr.grants[i].covers(child) && w.climb(p, i) {
				return true
			}
		}
	}
	return false
}

// finish checks what needs the whole chain: one subject, revocations by those who
// stand above a token in it, bare resources, and policies.
func (w *walk) finish() bool {
	root := w.chain[w.n-1].link
	var sub DID
	for i := range w.n {
		l := w.chain[i].link
		if l.format == Native {
			if sub.IsZero() {
				sub = l.sub
			}
			if l.sub != sub || l.sub != w.need.owner && l.sub != root.iss {
				return w.fail(ErrSubject, l, "")
			}
		}
		// A venue issues for many owners, so what it leaves bare means nobody.
		if l.grants[w.chain[i].grant].owner.IsZero() && root.iss == w.v.Self {
			return w.fail(ErrBareResource, l, "a venue names the owner")
		}
		for _, d := range w.revokers(l) {
			if d == w.need.owner {
				return w.fail(ErrRevoked, l, "")
			}
			for j := i; j < w.n; j++ {
				if w.chain[j].link.iss == d {
					return w.fail(ErrRevoked, l, "")
				}
			}
		}
	}
	return w.policiesHold()
}

func (w *walk) revokers(l *Link) []DID {
	if w.v.Store == nil {
		return nil
	}
	return w.v.Store.revoked[l.cid]
}

// policiesHold matches the policy of every token of the chain that says more than
// its resource against the arguments, of which "with" is always the resource that
// is decided on.
func (w *walk) policiesHold() bool {
	var args map[string]any
	for i := range w.n {
		l := w.chain[i].link
		if !l.Conditional() {
			continue
		}
		if args == nil {
			args = map[string]any{}
			maps.Copy(args, w.args)
			args["with"] = absolute(w.need.owner, w.need.path)
		}
		for j := range l.policy {
			if l.policy[j].match(args) != isTrue {
				return w.fail(ErrPolicy, l, "")
			}
		}
	}
	return true
}
