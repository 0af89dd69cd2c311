package ucan

import (
	"usher/caps"
)

// Query is what [Verifier.Authorize] is asked.
type Query struct {
	// Caller is who asks; that it is they has been established before.
	Caller DID
	// Request is the requirement. Its resource names the owner, or Owner does. A
	// request without a resource asks for the whole namespace of Owner: a token
	// grants on resources, so nothing less decides for an operation that has none.
	Request caps.Request
	// Owner is whose namespace a bare resource means; zero refuses bare ones.
	Owner DID
	// Proofs names the tokens of the chain, in any order. With neither Proofs nor
	// Tokens the store is searched for what is made out to the caller.
	Proofs []CID
	// Tokens are proofs that came with the call, from [Open].
	Tokens []*Link
	// Search also searches the store where Proofs or Tokens are given.
	Search bool
	// Args are the arguments of an invocation, for policies; "with" is always set
	// from the request. Values as encoding/json gives them, integers as int64.
	Args map[string]any

	// until, in seconds, passes over tokens that expire earlier; 0 asks for now
	// alone.
	until int64
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
	if !caps.Unrestricted().Check(q.Request).Allowed() {
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
