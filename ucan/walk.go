package ucan

import (
	"maps"
	"time"
)

// walk is one search for a chain, from the caller's token up to a root, depth
// first. It lives on the stack of Authorize and holds the store's read lock while
// it goes, so it sees one state of the revocations.
type walk struct {
	v      *Verifier
	need   need
	caller DID
	args   map[string]any

	// Times in seconds: expiry is compared with the ceiling of now and not-before
	// with its floor, so that a fraction never makes a token valid.
	floor, ceil, horizon int64
	bounded              bool // horizon holds

	search   bool // in the store, rather than in the pool
	pool     [maxPool]*Link
	poolSize int
	missing  DID // an audience to be read before the search can go on

	chain  [maxChain]step
	n      int
	budget int

	// The failure that got furthest up; the first of several.
	err    error
	at     *Link
	detail string
	height int
}

func (w *walk) start() {
	now := w.v.now()
	skew := int64(w.v.Limits.Skew / time.Second)
	w.floor, w.ceil = now.Unix()+skew, now.Unix()-skew
	if now.Nanosecond() > 0 {
		w.ceil++
	}
	life := w.v.Limits.life()
	w.bounded = life >= 0
	w.horizon = now.Unix() + int64(life/time.Second) + skew
	w.n, w.budget, w.err, w.at, w.detail, w.height = 0, w.v.Limits.search(), nil, nil, "", 0
}

func (w *walk) add(l *Link) {
	for i := range w.poolSize {
		if w.pool[i].cid == l.cid {
			return
		}
	}
	w.pool[w.poolSize] = l
	w.poolSize++
}

func (w *walk) lock() {
	if w.v.Store != nil {
		w.v.Store.mu.RLock()
	}
}

func (w *walk) unlock() {
	if w.v.Store != nil {
		w.v.Store.mu.RUnlock()
	}
}

// fail notes why this way leads nowhere and returns false.
func (w *walk) fail(err error, at *Link, detail string) bool {
	if w.err == nil || w.n > w.height && w.err != ErrBudget || err == ErrBudget {
		w.err, w.at, w.detail, w.height = err, at, detail, w.n
	}
	return false
}

func (w *walk) failure() error {
	e := &VerifyError{Err: w.err, Detail: w.detail}
	if w.at != nil {
		e.CID = w.at.cid
	}
	return e
}

func (w *walk) decide() (Grant, error) {
	w.lock()
	defer w.unlock()
	child := grant{owner: w.need.owner, path: w.need.path, can: w.need.can}
	if w.above(w.caller, nil, &child) {
		return Grant{chain: w.chain, n: w.n, owner: w.need.owner}, nil
	}
	if w.missing.IsZero() {
		return Grant{}, w.failure()
	}
	return Grant{}, nil
}

// above tries the tokens made out to aud that could be the proof of child; below
// is the token that needs it, nil for the request itself.
func (w *walk) above(aud DID, below *Link, child *grant) bool {
	if w.search {
		return w.aboveStored(aud, below, child)
	}
	madeOut, unused := false, false
	for i := range w.poolSize {
		p := w.pool[i]
		if p.aud != aud {
			unused = unused || !w.onChain(p)
			continue
		}
		if below != nil && !below.sub.IsZero() && !p.sub.IsZero() && p.sub != below.sub {
			madeOut = true
			w.fail(ErrSubject, p, "")
			continue
		}
		madeOut = true
		if w.tryAll(p, below, child) {
			return true
		}
	}
	switch {
	case madeOut:
	case below == nil:
		w.fail(ErrAudience, w.pool[0], "the caller is "+aud.s)
	case unused:
		w.fail(ErrBrokenChain, below, "no proof is made out to "+aud.s)
	default:
		w.fail(ErrForeignRoot, below, "it was issued by "+aud.s)
	}
	return false
}

// tryAll goes up by each capability of p that covers child.
func (w *walk) tryAll(p, below *Link, child *grant) bool {
	r := p.resolved.Load()
	if r.err != nil {
		return w.failWith(r.err, p)
	}
	tooWide := ErrWidenedResource
	if below == nil {
		tooWide = ErrNotCovered
	}
	covered := false
	for i := range r.grants {
		g := &r.grants[i]
		if g.covers(child) {
			covered = true
			if w.climb(p, i) {
				return true
			}
		} else if below != nil && g.coversResource(child) {
			tooWide = ErrWidenedAbility
		}
	}
	if !covered {
		// Time, signature and revocation are said first: they explain more.
		if w.push(p, 0) {
			w.n--
			at := below
			if below == nil {
				at = p
			}
			if bareElsewhere(p, r, child.owner) {
				at, tooWide = p, ErrBareResource
			}
			w.fail(tooWide, at, "")
		}
	}
	return false
}

// bareElsewhere reports whether a token leaves a resource bare, and so speaks of
// its root issuer's namespace, where the owner is another: what it grants may look
// as if it covered the request.
func bareElsewhere(l *Link, r *resolved, owner DID) bool {
	for i := range l.grants {
		if l.grants[i].owner.IsZero() && r.grants[i].owner != owner {
			return true
		}
	}
	return false
}

func (w *walk) failWith(err error, p *Link) bool {
	if e, ok := err.(*VerifyError); ok {
		return w.fail(e.Err, p, e.Detail)
	}
	return w.fail(ErrMalformed, p, err.Error())
}

// aboveStored tries the stored tokens made out to aud on the resource of child
// and on those above it.
func (w *walk) aboveStored(aud DID, below *Link, child *grant) bool {
	a := w.v.Store.audiences[aud]
	if a == nil || !a.ready {
		w.missing = aud
		return false
	}
	key, more := pathKey(child.path), true
	any := false
	for ; more; key, more = above(key) {
		for _, r := range a.by[place{child.owner, key}] {
			p := r.link
			if below != nil && !below.sub.IsZero() && !p.sub.IsZero() && p.sub != below.sub {
				continue
			}
			any = true
			if p.resolved.Load().grants[r.grant].covers(child) && w.climb(p, r.grant) {
				return true
			}
			if !w.missing.IsZero() || w.budget < 0 {
				return false
			}
		}
	}
	switch {
	case below != nil && !any:
		w.fail(ErrForeignRoot, below, "it was issued by "+aud.s)
	case below == nil:
		w.fail(ErrNotCovered, nil, "no valid token made out to the caller covers it")
	}
	return false
}

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

// policiesHold matches the statements of every token of the chain against the
// arguments, of which "with" is always the resource that is decided on.
func (w *walk) policiesHold() bool {
	var args map[string]any
	for i := range w.n {
		l := w.chain[i].link
		for j := range l.policy {
			if args == nil {
				args = map[string]any{}
				maps.Copy(args, w.args)
				args["with"] = absolute(w.need.owner, w.need.path)
			}
			if l.policy[j].match(args) != isTrue {
				return w.fail(ErrPolicy, l, "")
			}
		}
	}
	return true
}
