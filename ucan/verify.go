package ucan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"usher/caps"
)

// Verifier decides whether tokens carry the authority for a request. One walker
// serves both formats and chains that mix them. All state is in the store, so a
// Verifier may be copied. The zero value trusts owners alone, searches nothing
// and goes by the system's clock.
type Verifier struct {
	Now func() time.Time // the clock; nil is time.Now
	// Self is this venue's own DID. Invocations must be made out to it, and a
	// token that it issued must name the owner of each resource.
	Self DID
	// Roots reports whether issuer may begin a chain in owner's namespace, beside
	// the owner: a venue may for the principals that it hosts. nil is never.
	Roots func(owner, issuer DID) bool
	Store *Store // tokens and revocations; nil verifies Query.Tokens alone
	// Signer returns what an agent that signed a token holds now, in the words of a
	// principal: such a token counts as far as that goes. It is given the issuer of the
	// token, with whose key the agent signed, whom it is made out to, and the name of the
	// agent's life, see [Delegation.Agents]. nil takes every agent to hold all.
	Signer func(ctx context.Context, issuer, audience DID, agent string) (set caps.Set, principal DID)
	Limits Limits // of chains and lifetimes

	brought map[CID][]DID // who revoked a token, by revocations that are heeded
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

// step is a token, of a chain for example, and the capability of it that counts.
type step struct {
	link  *Link
	grant int
}

func (s step) at() *grant { return &s.link.resolved.Load().grants[s.grant] }

// Links lists the tokens from the caller's own to the root's. It is empty where
// the caller is the owner.
func (g Grant) Links() []*Link {
	links := make([]*Link, g.n)
	for i := range links {
		links[i] = g.chain[i].link
	}
	return links
}

// Chain is Links by their names.
func (g Grant) Chain() []CID {
	cids := make([]CID, g.n)
	for i := range cids {
		cids[i] = g.chain[i].link.CID
	}
	return cids
}

// root is who began the chain: the owner, or a venue for them.
func (g Grant) root() DID {
	if g.n == 0 {
		return g.owner
	}
	return g.chain[g.n-1].link.Issuer
}

// By is the capability that the chain gives the caller: the resource is that of the
// nearest token which names one. ok is false where the caller is the owner.
func (g Grant) By() (c caps.Capability, ok bool) {
	if g.n == 0 {
		return c, false
	}
	c = g.chain[0].at().shown
	for i, s := range g.chain[:g.n] {
		from := s.at()
		if from.passes {
			continue
		}
		if named, err := caps.NewCapability(absolute(from.owner, from.path), string(c.Can())); err == nil && i > 0 {
			c = named
		}
		break
	}
	return c, true
}

// expires returns when the first token of the chain expires, zero where none does.
func (g Grant) expires() (t time.Time) {
	for i := range g.n {
		if e := g.chain[i].link.Expires(); t.IsZero() || !e.IsZero() && e.Before(t) {
			t = e
		}
	}
	return t
}

// Conditional reports whether a token of the chain carries conditions beyond its
// resource, so that it gives less than [Grant.By] says.
func (g Grant) Conditional() bool {
	return slices.ContainsFunc(g.chain[:g.n], func(s step) bool { return s.link.isConditional() })
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
	search := v.newSearch(&q, n)
	defer search.release()
	if err := search.gather(ctx); err != nil {
		return Grant{}, err
	}
	switch named := len(q.Proofs)+len(q.Tokens) > 0; {
	case named && !q.Search && len(search.pool) == 0:
		return Grant{}, search.failure()
	case named && !q.Search:
	case v.Store == nil:
		return Grant{}, &VerifyError{Err: ErrMissingProof, Detail: "none came with the request, and there is no store to search"}
	default:
		search.stored = true
	}
	g, found, err := search.run(ctx)
	if err == nil && !found {
		err = search.failure()
	}
	return g, err
}

// gather collects the tokens that the query names. One whose proofs are missing is
// set aside: the others may do without it.
func (s *search) gather(ctx context.Context) error {
	q, v := s.query, s.v
	if n := len(q.Proofs) + len(q.Tokens); n > v.Limits.proofs() {
		return &VerifyError{Err: ErrBudget, Detail: fmt.Sprintf("%d proofs are named, at most %d are taken (Limits.Proofs)", n, v.Limits.proofs())}
	}
	lookup := q.Tokens
	if lookup == nil {
		lookup = q.beside
	}
	for i := range len(q.Tokens) + len(q.Proofs) {
		var l *Link
		var c CID
		var err error
		if i < len(q.Tokens) {
			l, c = q.Tokens[i], q.Tokens[i].CID
		} else {
			c = q.Proofs[i-len(q.Tokens)]
			l, err = v.proof(ctx, c, lookup)
		}
		if err == nil && l.resolved.Load() == nil {
			if _, err = l.resolve(func(c CID) (*Link, error) { return v.proof(ctx, c, lookup) }); l.resolved.Load() != nil {
				err = nil // what is wrong with it comes up when it is used
			}
		}
		if refused, ok := errors.AsType[*VerifyError](err); ok {
			s.fail(refused.Err, l, "the proof "+cmp.Or(refused.CID, c).String()+" is neither among the tokens nor stored", 0)
			continue
		}
		if err != nil {
			return fmt.Errorf("read proofs: %w", err)
		}
		if !slices.ContainsFunc(s.pool, func(p *Link) bool { return p.CID == l.CID }) {
			s.pool = append(s.pool, l)
		}
	}
	return nil
}

// proof finds a token among those that came with the call, or in the store.
func (v *Verifier) proof(ctx context.Context, c CID, tokens []*Link) (*Link, error) {
	for _, l := range tokens {
		if l.CID == c {
			return l, nil
		}
	}
	if v.Store == nil {
		return nil, &VerifyError{Err: ErrMissingProof, CID: c}
	}
	return v.Store.Get(ctx, c)
}

// Check verifies a token and the proofs that it names, without a request:
// signatures, times, lifetimes, revocations, audiences, attenuation. One of which the
// owners have revoked all that it grants is revoked. It does not
// say that anybody may do anything: for a native token nothing above it is looked
// at, and whether the chain begins with an owner depends on the resource.
func (v *Verifier) Check(ctx context.Context, l *Link) error {
	_, err := l.resolve(func(c CID) (*Link, error) { return v.proof(ctx, c, nil) })
	if err != nil {
		return err
	}
	search := &search{v: v, now: v.now()}
	if search.holds(l, 0) && search.checkSignatures(l, 0) {
		if len(l.grants) == 0 || !search.isDisowned(l) {
			return nil
		}
		search.fail(ErrRevoked, l, "", 0)
	}
	return search.failure()
}

// Query is what [Verifier.Authorize] is asked.
type Query struct {
	Caller DID // who asks; that it is they has been established before
	// Request is the requirement. Its resource names the owner, or Owner does. A
	// request without a resource asks for the whole namespace of Owner: a token
	// grants on resources, so nothing less decides for an operation that has none.
	Request caps.Request
	Owner   DID // whose namespace a bare resource means; zero refuses bare ones
	// Proofs names tokens of the chain, in any order, and Tokens, from [Open], came
	// with the call. With neither, or with Search, the store is searched.
	Proofs []CID
	Tokens []*Link
	Search bool
	// Args are the arguments of an invocation, for policies; "with" is always set
	// from the request. Values as encoding/json gives them, integers as int64.
	Args map[string]any
	// Input is the input of the call, as JSON: the arguments where Args is nil, and
	// what the capabilities of agents are held against. It is read where one of these
	// asks for it.
	Input json.RawMessage

	beside []*Link // where Proofs are looked for, without being named themselves
	until  int64   // seconds; tokens that expire earlier are passed over; 0 asks for now alone
}

// need is a query's request taken apart.
type need struct {
	owner DID
	path  caps.Resource
	can   caps.Ability
}

func (q *Query) need() (need, error) {
	if err := q.Request.Err(); err != nil {
		return need{}, &VerifyError{Err: ErrRequest, Cause: err}
	}
	if !caps.Unrestricted().Check(q.Request).IsAllowed() {
		return need{}, &VerifyError{Err: ErrRequest, Detail: "nothing grants " + q.Request.String()}
	}
	n := need{owner: q.Owner, path: q.Request.Resource(), can: q.Request.Ability()}
	if d := n.path.DID(); d != "" {
		// Not parsed: it is only ever compared with DIDs that were.
		n.owner, n.path = DID{d}, n.path.In(d)
	}
	if n.owner.IsZero() {
		return need{}, &VerifyError{Err: ErrBareResource, Detail: q.Request.String()}
	}
	return n, nil
}
