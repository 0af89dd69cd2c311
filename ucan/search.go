package ucan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"usher/caps"
	"usher/caps/value"
)

// search looks for a chain from the caller up to a root, the shortest first. It
// goes by states, not by tokens: what a principal would have to hold, and in whose
// chain. Each state is looked at once, so neither a crowd of tokens nor a ring of
// principals that lead nowhere makes it long.
//
// Whether a token is revoked can depend on who stands above it in its chain. The
// search takes no notice of that until it has a chain that fails by it; then that
// revoker counts, and it begins again. Signatures are asked about in the same way, of
// the tokens of a chain that is otherwise whole.
type search struct {
	v      *Verifier
	need   need
	args   map[string]any // for policies, with the resource; nil until one asks
	input  any            // of the query, decoded; nil until somebody asks
	query  Query
	now    time.Time
	stored bool // the store is searched, too

	pool  []*Link
	nodes []node // those before next have been looked at
	next  int
	seen  map[state]struct{}
	lists [][]ref
	looks int

	revokers []DID // that stand above a token which they revoked
	forged   []*Link
	agents   map[agentSignature]bool // whether they hold what is needed

	// The failure that got furthest up; the first of several.
	err    error
	at     *Link
	detail string
	height int
}

// node is a token of a chain that is being built, from the caller's up.
type node struct {
	step                  // without a link for the request itself
	below   int           // the node that rests on it; -1 for that of the request
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

// agentSignature is an agent, with the issuer and the audience of the token that it signed.
type agentSignature struct {
	issuer, audience DID
	agent            string
}

// scratch is kept between searches, so that one with everything in memory
// allocates nothing.
var scratch = sync.Pool{New: func() any { return &search{seen: map[state]struct{}{}} }}

func (v *Verifier) newSearch(q *Query, n need) *search {
	s := scratch.Get().(*search)
	s.v, s.need, s.query, s.now = v, n, *q, v.now()
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
	if s.at != nil && errors.Is(s.err, ErrNotCovered) {
		e.Detail = "it carries " + s.at.carries()
	}
	return e
}

// carries names the capabilities of a token, of many the first.
func (l *Link) carries() string {
	const most = 4
	var text strings.Builder
	for i := range l.grants[:min(most, len(l.grants))] {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(value.Cut(l.grants[i].shown.String(), 300))
	}
	if more := len(l.grants) - most; more > 0 {
		fmt.Fprintf(&text, " and %d more", more)
	}
	return text.String()
}

// maxRevokers is how many revokers within chains one search tells apart.
const maxRevokers = 64

// run searches until a chain holds or nothing is left. An error of the store ends
// it; a refusal is s.failure.
func (s *search) run(ctx context.Context) (g Grant, found bool, err error) {
	for {
		if root, err := s.climb(ctx); err != nil || !root {
			return Grant{}, false, err
		}
		g := s.chain(len(s.nodes) - 1)
		if again := s.doubt(&g); !again {
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

// climb goes up until the last of the nodes is a root.
func (s *search) climb(ctx context.Context) (root bool, err error) {
	request := node{below: -1, path: s.need.path, can: s.need.can}
	root, err = s.above(ctx, -1, &request, s.query.Caller)
	for ; !root && err == nil && s.next < len(s.nodes) && !s.cut(); s.next++ {
		n := s.nodes[s.next]
		switch {
		case n.depth == s.v.Limits.chainDepth():
			s.fail(ErrTooDeep, n.link, "the chain has too many tokens (Limits.ChainDepth)", n.depth)
		case n.link.Format == JWT:
			root = s.aboveJWT(ctx, s.next, &n)
		default:
			root, err = s.above(ctx, s.next, &n, n.link.Issuer)
		}
	}
	return root, err
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
		g.chain[n.depth-1] = n.step
	}
	return g
}
