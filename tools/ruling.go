package tools

import (
	"encoding/json"
	"iter"

	"usher/caps"
	"usher/caps/value"
)

// Ruling is what the gate makes of a call, and why. It has no effect. Where the
// gate could not come to a verdict, it holds what was known by then.
type Ruling struct {
	auth   Authority
	op     *Operation
	input  json.RawMessage
	call   preparation
	found  []decision
	inline [2]decision // the first of found
	denial *caps.Denial
	reason string // of the denial, for the ledger: more than the caller is told
	guard  *guardError
	grant  *Grant // by which the call may be made that would be asked about; nil for none
	epoch  uint64

	granted string // id of the answer that gives what the capabilities do not; empty for none
}

// decision is one requirement with what met it.
type decision struct {
	caps.Decision
	unmet  bool
	proofs []string
}

// Authority is whose call it is.
func (r *Ruling) Authority() Authority { return r.auth }

// Operation is what the reference means for the caller; nil where it means
// nothing.
func (r *Ruling) Operation() *Operation { return r.op }

// Input is the call's input as it came.
func (r *Ruling) Input() json.RawMessage { return r.input }

// Verdict is [Allowed], [Asked] or [Denied].
func (r *Ruling) Verdict() string {
	switch {
	case r.denial != nil:
		return Denied
	case r.guard != nil:
		return r.guard.verdict
	}
	return Allowed
}

// Reason says in a sentence why a call that the capabilities do not forbid does not
// run as it is: that a person has to allow it, or what a guard says; empty where it runs.
func (r *Ruling) Reason() string {
	if r.guard == nil {
		return ""
	}
	return r.guard.Error()
}

// Denial is why the capabilities do not allow the call; nil where they do.
func (r *Ruling) Denial() *caps.Denial { return r.denial }

// Needs yields what the call requires, as the owner writes it.
func (r *Ruling) Needs() iter.Seq[caps.Request] {
	return func(yield func(caps.Request) bool) {
		for i := range r.found {
			if !yield(r.found[i].Request()) {
				return
			}
		}
	}
}

// Gaps yields what of it the capabilities do not have.
func (r *Ruling) Gaps() iter.Seq[caps.Request] {
	return func(yield func(caps.Request) bool) {
		for i := range r.found {
			if f := &r.found[i]; !f.Possible() && !yield(f.Request()) {
				return
			}
		}
	}
}

// Requirements describes what the call requires, each with what met it.
func (r *Ruling) Requirements() []Requirement {
	rows := make([]Requirement, len(r.found))
	for i := range r.found {
		f := &r.found[i]
		need := f.Request()
		rows[i] = Requirement{Ability: string(need.Ability()), Resource: need.Target(), Unmet: f.unmet, Proofs: f.proofs}
		if by, ok := f.By(); ok {
			rows[i].By, rows[i].Asked = value.Cut(by.String(), maxBy), f.IsAsk()
		} else if f.IsAllowed() {
			rows[i].By = "(unrestricted)"
		}
	}
	return rows
}

// Entry describes the ruling for a ledger, and for whoever observes. Without an
// operation it names the caller alone.
func (r *Ruling) Entry() Entry {
	auth, op := r.auth, r.op
	e := Entry{
		Owner: auth.Owner().String(), Actor: auth.Actor(), Via: auth.Via(), Verdict: r.Verdict(),
		Job: auth.trail.Run, Session: auth.trail.Session, Schedule: auth.trail.Schedule, Inner: auth.trail.Inner,
	}
	for _, life := range auth.Behind() {
		e.Wrote = append(e.Wrote, life.Agent())
	}
	if op != nil {
		e.Operation, e.Effects, e.Input, e.Known = op.path, !op.readOnly, op.digestInput(r.input), op.home != nil
	}
	e.Needs, e.Omitted = pickRequirements(r.Requirements())
	switch {
	case r.denial != nil:
		e.Reason, e.BoundedBy = Cut(r.reason), r.denial.BoundedBy
	case r.guard != nil:
		e.Reason, e.Approval = Cut(r.guard.Error()), r.guard.approval
	case r.grant != nil:
		e.Grant, e.Approval = r.grant, r.grant.Approval
	}
	return e
}

// Starts returns the calls that this one would make, with the input of each as
// far as it is known beforehand. ok is false where that cannot be told.
func (r *Ruling) Starts() (calls []Invocation, ok bool) {
	if r.op == nil || r.op.starts == nil {
		return nil, true
	}
	defer func() {
		if recover() != nil { // the operation's own code
			calls, ok = nil, false
		}
	}()
	calls = r.op.starts(r.input)
	return calls, calls != nil
}
