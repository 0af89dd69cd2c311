package ucan

import (
	"errors"
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
	bounded              bool  // horizon holds
	until                int64 // up to when the chain must hold; 0 is now

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
	if w.err == nil || w.n > w.height && !errors.Is(w.err, ErrBudget) || errors.Is(err, ErrBudget) {
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
	var e *VerifyError
	if errors.As(err, &e) {
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
