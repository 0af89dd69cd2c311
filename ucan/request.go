package ucan

import (
	"encoding/json"

	"usher/caps"
)

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
