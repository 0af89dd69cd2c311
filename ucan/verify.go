package ucan

import (
	"context"
	"fmt"
	"time"

	"usher/caps"
)

// Verifier decides whether tokens carry the authority for a request. One walker
// serves both formats and chains that mix them. All state is in the store, so a
// Verifier may be copied. The zero value trusts owners alone, searches nothing
// and goes by the system's clock.
type Verifier struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Self is this venue's own DID. Invocations must be made out to it, and a
	// token that it issued must name the owner of each resource.
	Self DID
	// Roots reports whether issuer may begin a chain in owner's namespace, beside
	// the owner: a venue may for the principals that it hosts. nil is never. It is
	// called under a lock of the store and must not call back into it.
	Roots func(owner, issuer DID) bool
	// Store holds tokens and revocations; nil verifies Query.Tokens alone.
	Store *Store
	// Limits bounds chains and lifetimes; the zero value holds the defaults.
	Limits Limits
}

func (v *Verifier) now() time.Time {
	if v.Now == nil {
		return time.Now()
	}
	return v.Now()
}

// mayRoot reports whether issuer may begin a chain in owner's namespace.
func (v *Verifier) mayRoot(owner, issuer DID) bool {
	return issuer == owner || v.Roots != nil && v.Roots(owner, issuer)
}

// Grant is a verified chain of authority: what allowed a request, for the audit.
// It holds for the moment in which it was made; ask again for the next call.
type Grant struct {
	chain [maxChain]step
	n     int
	owner DID
}

// step is one token of a chain and the capability of it that counts.
type step struct {
	link  *Link
	grant int
}

// Chain lists the tokens from the caller's own to the root's. It is empty where
// the caller is the owner.
func (g Grant) Chain() []CID {
	cids := make([]CID, 0, g.n)
	for _, l := range g.links() {
		cids = append(cids, l.cid)
	}
	return cids
}

func (g *Grant) links() []*Link {
	links := make([]*Link, g.n)
	for i := range links {
		links[i] = g.chain[i].link
	}
	return links
}

// Owner is whose namespace the request is in.
func (g Grant) Owner() DID { return g.owner }

// Root is who began the chain: the owner, or a venue for them.
func (g Grant) Root() DID {
	if g.n == 0 {
		return g.owner
	}
	return g.chain[g.n-1].link.iss
}

// By is the capability of the caller's own token that allowed the request; ok is
// false where the caller is the owner.
func (g Grant) By() (c caps.Capability, ok bool) {
	if g.n == 0 {
		return c, false
	}
	return g.chain[0].link.grants[g.chain[0].grant].shown, true
}

// Expires returns when the first token of the chain expires; ok is false where
// none does.
func (g Grant) Expires() (t time.Time, ok bool) {
	for i := range g.n {
		if e, has := g.chain[i].link.Expires(); has && (!ok || e.Before(t)) {
			t, ok = e, true
		}
	}
	return t, ok
}

// Authorize decides a query. It returns the chain that carries the authority, or
// a [VerifyError] (also for an invalid query), or an error of the store. It
// verifies of every token on the way: signature, time, lifetime, revocation; that
// each was made out to the issuer of the next; that all speak of one subject;
// that each is no wider than its proof, in both parts, even where the request
// would pass; and that the first was issued by the owner, or by a principal that
// Roots lets speak for them. An owner needs no token in their own namespace.
//
// A search with everything in memory allocates nothing and reads no disk.
func (v *Verifier) Authorize(ctx context.Context, q Query) (Grant, error) {
	n, err := q.need()
	if err != nil {
		return Grant{}, err
	}
	if q.Caller.IsZero() {
		return Grant{}, &VerifyError{Err: ErrAudience, Detail: "the call has no caller"}
	}
	if q.Caller == n.owner {
		return Grant{owner: n.owner}, nil
	}
	w := walk{v: v, need: n, caller: q.Caller, args: q.Args, until: q.until}
	w.start()
	if len(q.Proofs)+len(q.Tokens) > 0 {
		if err := w.gather(ctx, &q); err != nil {
			return Grant{}, err
		}
		return w.decide()
	}
	if v.Store == nil {
		return Grant{}, &VerifyError{Err: ErrMissingProof, Detail: "no proof is named and there is no store to search"}
	}
	w.search = true
	// Each round that fails for an audience that is not in memory reads one.
	for range v.Limits.search() {
		g, err := w.decide()
		if w.missing.IsZero() {
			return g, err
		}
		if err := v.Store.loadAudience(ctx, w.missing); err != nil {
			return Grant{}, fmt.Errorf("search proofs: %w", err)
		}
		w.missing = DID{}
		w.start()
	}
	return Grant{}, &VerifyError{Err: ErrBudget}
}

// gather collects the tokens that the query names.
func (w *walk) gather(ctx context.Context, q *Query) error {
	if n := len(q.Proofs) + len(q.Tokens); n > w.v.Limits.proofs() {
		return &VerifyError{Err: ErrBudget, Detail: fmt.Sprintf("%d proofs are named, at most %d are taken (Limits.Proofs)", n, w.v.Limits.proofs())}
	}
	for _, l := range q.Tokens {
		w.add(l)
	}
	for _, c := range q.Proofs {
		l, err := w.v.proof(ctx, c, q.Tokens)
		if err != nil {
			return fmt.Errorf("read proofs: %w", err)
		}
		w.add(l)
	}
	for i := range w.poolSize {
		if w.pool[i].resolved.Load() != nil {
			continue // the error, if any, comes up when the token is used
		}
		_, err := w.pool[i].resolve(func(c CID) (*Link, error) { return w.v.proof(ctx, c, q.Tokens) })
		if err != nil && w.pool[i].resolved.Load() == nil {
			return fmt.Errorf("read proofs: %w", err)
		}
	}
	return nil
}

// proof finds a token among those that came with the call, or in the store.
func (v *Verifier) proof(ctx context.Context, c CID, tokens []*Link) (*Link, error) {
	for _, l := range tokens {
		if l.cid == c {
			return l, nil
		}
	}
	if v.Store == nil {
		return nil, &VerifyError{Err: ErrMissingProof, CID: c}
	}
	return v.Store.Get(ctx, c)
}

// Check verifies a token and the proofs that it names, without a request:
// signatures, times, lifetimes, revocations, audiences, attenuation. It does not
// say that anybody may do anything: for a native token nothing above it is looked
// at, and whether the chain begins with an owner depends on the resource.
func (v *Verifier) Check(ctx context.Context, l *Link) error {
	_, err := l.resolve(func(c CID) (*Link, error) { return v.proof(ctx, c, nil) })
	if err != nil {
		return err
	}
	w := walk{v: v}
	w.start()
	w.lock()
	defer w.unlock()
	if w.push(l, 0) && w.proofsHold(l) {
		return nil
	}
	return w.failure()
}

func (g *Grant) conditional() bool {
	for i := range g.n {
		if g.chain[i].link.Conditional() {
			return true
		}
	}
	return false
}
