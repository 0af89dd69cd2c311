package tools

import (
	"context"
	"errors"

	"usher/tools/fault"
)

// Approvals know what persons have answered.
type Approvals interface {
	// Answer returns what a person has said to exactly this call, which is made at this
	// place of its run: a grant, which the decision on the call uses up. A [*WaitError]
	// names the request that nobody has answered yet, which Answer files where there is
	// none; any other error says why the call is not to be made.
	Answer(ctx context.Context, r *Ruling, at At) (*Grant, error)
}

// Grant is the answer by which one call may be made. What it expects and puts is
// written with the decision, or the call does not run.
type Grant struct {
	Approval string            // id of the request
	Expect   map[string]uint64 // revisions of keys of the whole store
	Put      map[string][]byte
}

// answered asks whether a person has allowed what the gate would have to ask.
func (g *Gate) answered(ctx context.Context, r *Ruling, at At, err error) error {
	if r.guard == nil || r.guard.verdict != Asked || g.opts.Approvals == nil || !errors.Is(err, r.guard) { // the last: what is unfit is nothing to ask about
		return err
	}
	grant, refusal := g.opts.Approvals.Answer(ctx, r, at)
	if refusal == nil {
		r.grant, r.guard = grant, nil
		return nil
	}
	if fault.Of(refusal) == fault.Refused {
		r.guard = &guardError{operation: r.op.path, verdict: Denied, why: refusal.Error()}
		if told, ok := errors.AsType[fault.Detailed](refusal); ok {
			r.guard.details = told.Details()
		}
		return r.guard
	}
	if wait, ok := errors.AsType[*WaitError](refusal); ok {
		r.guard.approval = wait.Approval
	}
	return refusal
}
