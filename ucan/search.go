package ucan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"usher/caps"
)

// search looks for a chain from the caller up to a root, the shortest first. It
// goes by states, not by tokens: what a principal would have to hold, and in whose
// chain. Each state is looked at once, so neither a crowd of tokens nor a ring of
// principals that lead nowhere makes it long.
//
// Whether a token is revoked can depend on who stands above it in its chain. The
// search takes no notice of that until it has a chain that fails by it; then that
// revoker counts, and it begins again. Signatures and the agents that signed are
// asked about in the same way, of the tokens of a chain that is otherwise whole.
type search struct {
	v      *Verifier
	need   need
	caller DID
	args   map[string]any // for policies, with the resource; nil until one asks
	query  Query
	times  times
	stored bool // the store is searched, too

	pool  []*Link
	nodes []node // those before next have been looked at
	next  int
	seen  map[state]struct{}
	lists [][]ref
	looks int

	revokers []DID // that stand above a token which they revoked
	forged   []*Link
	agents   map[string]agentSet

	// The failure that got furthest up; the first of several.
	err    error
	at     *Link
	detail string
	height int
}

// node is a token of a chain that is being built, from the caller's up.
type node struct {
	link    *Link
	grant   int
	below   int           // the node that rests on it; -1 is the request itself
	depth   int           // tokens from the caller's to this one
	path    caps.Resource // what is needed of it
	can     caps.Ability
	sub     DID    // whom the native tokens up to here are about; zero for none
	revoked uint64 // which of search.revokers must not stand above
}

// state is what a node needs from above: a token of aud, or a capability of link.
type state struct {
	aud     DID
	link    *Link
	path    string
	can     caps.Ability
	sub     DID
	revoked uint64
}

// agentSet is what an agent that signed a token holds now, in the words of a
// principal.
type agentSet struct {
	principal DID
	set       caps.Set
}

// scratch is kept between searches, so that one with everything in memory
// allocates nothing.
var scratch = sync.Pool{New: func() any { return &search{seen: map[state]struct{}{}} }}

func (v *Verifier) newSearch(q *Query, n need) *search {
	s := scratch.Get().(*search)
	s.v, s.need, s.caller, s.query, s.times = v, n, q.Caller, *q, v.times(q.until)
	return s
}

// release gives the memory back, without what it points at and what grew large.
func (s *search) release() {
	const most = 1 << 10
	if cap(s.nodes) > most || cap(s.lists) > most || len(s.seen) > most {
		return
	}
	clear(s.pool)
	clear(s.nodes)
	clear(s.lists)
	clear(s.seen)
	*s = search{pool: s.pool[:0], nodes: s.nodes[:0], lists: s.lists[:0], seen: s.seen}
	scratch.Put(s)
}

// fail notes why this way leads nowhere and returns false. Being cut short is the
// reason before any other.
func (s *search) fail(err error, at *Link, detail string, height int) bool {
	if s.err == nil || errors.Is(err, ErrBudget) || height > s.height && !s.cut() {
		s.err, s.at, s.detail, s.height = err, at, detail, height
	}
	return false
}

// cut reports whether the search was cut short.
func (s *search) cut() bool { return errors.Is(s.err, ErrBudget) }

func (s *search) failWith(err error, at *Link, height int) bool {
	if e, ok := errors.AsType[*VerifyError](err); ok {
		return s.fail(e.Err, at, e.Detail, height)
	}
	return s.fail(ErrMalformed, at, err.Error(), height)
}

func (s *search) failure() error {
	e := &VerifyError{Err: s.err, Detail: s.detail}
	if s.at != nil {
		e.CID = s.at.CID
	}
	return e
}

// maxRevokers is how many revokers within chains one search tells apart.
const maxRevokers = 64

// run searches until a chain holds or nothing is left. An error of the store ends
// it; a refusal is s.failure.
func (s *search) run(ctx context.Context) (g Grant, found bool, err error) {
	for {
		root, err := s.climb(ctx)
		if err != nil || root < 0 {
			return Grant{}, false, err
		}
		g := s.chain(root)
		if again := s.doubt(ctx, &g); !again {
			return g, true, nil
		}
		if len(s.revokers) > maxRevokers {
			s.fail(ErrBudget, nil, "too many of those who stand in the chains have revoked tokens in them", math.MaxInt)
			return Grant{}, false, nil
		}
		s.nodes, s.next = s.nodes[:0], 0
		clear(s.seen)
	}
}

// climb returns the node of a root, or -1.
func (s *search) climb(ctx context.Context) (root int, err error) {
	request := node{below: -1, path: s.need.path, can: s.need.can}
	if root, err = s.above(ctx, -1, &request, s.caller); root >= 0 || err != nil {
		return root, err
	}
	for s.next < len(s.nodes) && !s.cut() {
		at := s.next
		s.next++
		n := s.nodes[at]
		if n.depth == s.v.Limits.chainDepth() {
			s.fail(ErrTooDeep, n.link, "the chain has too many tokens (Limits.ChainDepth)", n.depth)
			continue
		}
		if n.link.Format == JWT {
			root, err = s.aboveJWT(at, &n), nil
		} else {
			root, err = s.above(ctx, at, &n, n.link.Issuer)
		}
		if root >= 0 || err != nil {
			return root, err
		}
	}
	return -1, nil
}

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
func (s *search) aboveJWT(at int, n *node) (root int) {
	r := n.link.resolved.Load()
	if len(r.parents) == 0 {
		s.fail(ErrForeignRoot, n.link, "it was issued by "+n.link.Issuer.s, n.depth)
		return -1
	}
	child := s.asks(n)
	for _, p := range r.parents {
		for i := range p.resolved.Load().grants {
			if root := s.try(p, i, at, n, &child); root >= 0 {
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
		if root := s.abovePool(at, n, aud, &child); root >= 0 || !s.stored {
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
	s.lists = s.v.Store.refs(a, place{child.owner, pathKey(child.path)}, s.lists[:0])
	any := false
	for _, list := range s.lists {
		for i := range list {
			ref := &list[i]
			if ref.exp < s.times.least { // so do those that follow
				s.inTime(ref.link, n.depth)
				break
			}
			if s.looks++; s.looks > s.v.Limits.search() {
				s.fail(ErrBudget, n.link, "", math.MaxInt)
				return -1, nil
			}
			any = true
			if root := s.try(ref.link, ref.grant, at, n, &child); root >= 0 {
				return root, nil
			}
		}
	}
	if l := s.v.Store.tellRevoked(a, &child); l != nil {
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
func (s *search) abovePool(at int, n *node, aud DID, child *grant) (root int) {
	madeOut, unused := false, false
	for _, p := range s.pool {
		if p.Audience != aud {
			unused = unused || !s.onChain(at, p)
			continue
		}
		madeOut = true
		if root := s.tryAll(p, at, n, child); root >= 0 {
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
func (s *search) tryAll(p *Link, at int, n *node, child *grant) (root int) {
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
			if root := s.try(p, i, at, n, child); root >= 0 {
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

// meet notes a state, and reports whether it was met before.
func (s *search) meet(st state) bool {
	if _, met := s.seen[st]; met {
		return true
	}
	if st.revoked != 0 { // what leads nowhere with fewer bounds does so with more
		free := st
		free.revoked = 0
		if _, met := s.seen[free]; met {
			return true
		}
	}
	s.seen[st] = struct{}{}
	return false
}

// try puts capability i of p above node at, if it holds and covers what is asked.
// It returns the new node where that is a root, else -1.
func (s *search) try(p *Link, i, at int, n *node, child *grant) (root int) {
	r := p.resolved.Load()
	if !r.grants[i].covers(child) {
		return -1
	}
	if !s.holds(p, n.depth) || !s.counts(p, n.depth) {
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

func (s *search) onChain(at int, l *Link) bool {
	for ; at >= 0; at = s.nodes[at].below {
		if s.nodes[at].link == l {
			return true
		}
	}
	return false
}

// chain takes the way from a root down to the caller.
func (s *search) chain(root int) Grant {
	g := Grant{owner: s.need.owner, n: s.nodes[root].depth}
	for at := root; at >= 0; at = s.nodes[at].below {
		n := &s.nodes[at]
		g.chain[n.depth-1] = step{n.link, n.grant}
	}
	return g
}

// policyArgs are the arguments of the call, of which "with" is always the resource
// that is decided on.
func (s *search) policyArgs() map[string]any {
	if s.args == nil {
		s.args = map[string]any{}
		maps.Copy(s.args, s.query.Args)
		s.args["with"] = absolute(s.need.owner, s.need.path)
	}
	return s.args
}
