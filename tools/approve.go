package tools

import (
	"context"
	"errors"
	"slices"

	"usher/caps"
	"usher/tools/fault"
)

// Approvals know what persons have answered.
type Approvals interface {
	// Answer returns what a person has said to exactly this call, which is made at this
	// place of its run: a grant, which the decision on the call uses up. A [*WaitError]
	// names the request that nobody has answered yet, which Answer files where there is
	// none; any other error says why the call is not to be made.
	Answer(ctx context.Context, r *Ruling, at At) (*Grant, error)
	// FindApproval returns the id of the answer by which a person has given whoever auth is, for
	// the task at hand, what need requires; "" for none.
	FindApproval(ctx context.Context, auth Authority, need caps.Request) (approval string, err error)
	// Begin is what is written with the decision on a call that an answer of FindApproval lets
	// through.
	Begin(ctx context.Context, auth Authority, at At, approval string) (*Grant, error)
	// AskFor asks a person for what a call needs and its maker does not hold, where the
	// maker is to ask: a [*WaitError] names the request. Otherwise told is what was
	// answered, in a sentence; "" where nobody was asked.
	AskFor(ctx context.Context, r *Ruling, need caps.Request, at At) (told string, err error)
}

// Grant is the answer by which one call may be made. What it expects and puts is
// written with the decision, or the call does not run.
type Grant struct {
	Approval string            // id of the request
	Expect   map[string]uint64 // revisions of keys of the whole store
	Put      map[string][]byte
}

// grant lets a requirement through that a person has given what it needs, for the task
// at hand.
func (g *Gate) grant(ctx context.Context, r *Ruling, f *decision, held caps.Set) {
	need := f.Request()
	if g.opts.Approvals == nil || r.auth.Life() == "" || f.Possible() {
		return
	}
	approval, err := g.opts.Approvals.FindApproval(ctx, r.auth, need)
	if err != nil || approval == "" {
		return
	}
	if given, ok := g.withGrants(r, held, need); ok {
		f.Decision, r.granted = given, approval
	}
}

// withGrants returns the decision on a requirement where its maker was given what it needs, beside
// what is held. ok is false where that cannot be given: who may do nothing at all, such as
// who is suspended, is given nothing, and what is denied expressly stays so.
func (g *Gate) withGrants(r *Ruling, held caps.Set, need caps.Request) (d caps.Decision, ok bool) {
	if held.IsEmpty() || !need.HasResource() || need.HandsOn() || need.Err() != nil {
		return d, false
	}
	c, err := caps.NewCapability(need.Resource().String(), string(need.Ability()))
	if err != nil {
		return d, false
	}
	d = caps.Of(append(slices.Collect(held.All()), c)...).Check(need)
	if d.Open() {
		facts, err := g.facts(r)
		if err != nil {
			return d, false
		}
		d = d.Settle(facts)
	}
	return d, d.IsAllowed()
}

// requestGrant asks a person for what a denied call lacks, where its maker is to ask. Where it lacks
// more, which nobody can give, no answer would let it through, and nobody is asked.
func (g *Gate) requestGrant(ctx context.Context, r *Ruling, at At, denied error) error {
	i := slices.IndexFunc(r.found, func(f decision) bool { return f.unmet })
	if i < 0 || g.opts.Approvals == nil || r.op == nil || r.auth.Life() == "" || at.In(r.auth.Run()) == "" {
		return denied
	}
	f := &r.found[i]
	held, _ := r.auth.live(ctx)
	if f.Possible() {
		return denied
	}
	for need := range r.Gaps() {
		if _, ok := g.withGrants(r, held, need); !ok {
			return denied
		}
	}
	told, err := g.opts.Approvals.AskFor(ctx, r, f.Request(), at)
	if wait, waits := errors.AsType[*WaitError](err); waits {
		r.guard = &guardError{operation: r.op.path, verdict: Asked, why: f.Request().String() + " is not among the capabilities", approval: wait.Approval}
		r.denial, r.reason = nil, ""
	}
	if err != nil {
		return err
	}
	if told != "" {
		r.denial.Hint = told
	}
	return denied
}

// consult asks whether a person has allowed what the gate would have to ask.
func (g *Gate) consult(ctx context.Context, r *Ruling, at At, err error) error {
	switch {
	case r.denial != nil:
		return g.requestGrant(ctx, r, at, err)
	case err == nil && r.granted != "":
		r.grant, err = g.opts.Approvals.Begin(ctx, r.auth, at, r.granted)
		return err
	}
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
		if told, ok := errors.AsType[fault.Detailer](refusal); ok {
			r.guard.details = told.Details()
		}
		return r.guard
	}
	if wait, ok := errors.AsType[*WaitError](refusal); ok {
		r.guard.approval = wait.Approval
	}
	return refusal
}
