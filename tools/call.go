package tools

import (
	"context"
	"encoding/json"

	"usher/caps"
	"usher/ucan"
)

// Call is what a handler is given: the ticket that the gate made out for one
// run of one operation. The zero value belongs to nobody and can do nothing.
type Call struct{ ticket *ticket }

type ticket struct {
	gate  *Gate
	auth  Authority
	op    *Operation
	id    string
	input json.RawMessage
}

// Owner is the principal whose namespace the call works in.
func (c Call) Owner() ucan.DID { return c.Authority().owner }

// Actor is the id of the calling agent; empty for the owner in person.
func (c Call) Actor() string { return c.Authority().actor }

// Caps returns the caller's effective capabilities as they are now.
func (c Call) Caps() caps.Set { return c.Authority().Caps() }

// ID identifies the call where the caller gave one, such as a model's tool-call id.
func (c Call) ID() string {
	if c.ticket == nil {
		return ""
	}
	return c.ticket.id
}

// Operation is the catalogue path of the operation that runs.
func (c Call) Operation() string {
	if c.ticket == nil {
		return ""
	}
	return c.ticket.op.path
}

// Authority is the caller's authority, one level deeper: what an operation
// that starts others passes on.
func (c Call) Authority() Authority {
	if c.ticket == nil {
		return Authority{}
	}
	return c.ticket.auth
}

// InJob returns the call with what it starts recorded under the job.
func (c Call) InJob(id string) Call {
	if c.ticket == nil {
		return c
	}
	t := *c.ticket
	t.auth = t.auth.InJob(id)
	return Call{&t}
}

// Resolve finds the operation that a reference means for the caller, as
// [Call.Invoke] would.
func (c Call) Resolve(ctx context.Context, reference string) (*Operation, error) {
	if c.ticket == nil {
		return nil, ErrForeignAuthority
	}
	return c.ticket.gate.resolve(ctx, c.ticket.auth, reference, nil)
}

// Invoke runs another operation with the caller's own authority. It goes
// through the gate like any call.
func (c Call) Invoke(ctx context.Context, reference string, input json.RawMessage) (Result, error) {
	if c.ticket == nil {
		return Result{}, ErrForeignAuthority
	}
	return c.ticket.gate.Invoke(ctx, c.ticket.auth, Invocation{Operation: reference, Input: input})
}
