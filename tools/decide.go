package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/caps"
	"usher/ucan"
)

// Bounds of what a call can bring.
const (
	MaxInput     = 4 << 20 // bytes of input
	maxReference = 1 << 10 // bytes of a reference to an operation
	MaxRequired  = 1 << 10 // requirements of one call
)

// Decide returns what [Gate.Invoke] would make of the call now. It runs nothing,
// records nothing and counts nothing. A denial, or a guard that asks or denies,
// is part of the ruling and no error. The error is an [*InputError], a
// [*NotFoundError] or another one of this package.
//
// The order is the cheapest first: resolve the reference, decode the input, ask
// for all requirements, check each, validate the rest of the input, hold it against
// the terms of the capabilities, ask the guards. Who may not call learns no more than
// that.
func (g *Gate) Decide(ctx context.Context, auth Authority, inv Invocation) (*Ruling, error) {
	r := new(Ruling)
	if err := g.decide(ctx, auth, inv, r); r.Verdict() == Allowed {
		return r, err
	}
	return r, nil
}

// decide fills the ruling. Its error is the denial or the guard's, too.
func (g *Gate) decide(ctx context.Context, auth Authority, inv Invocation, r *Ruling) error {
	*r = Ruling{auth: auth, input: inv.Input}
	if err := g.acceptable(ctx, auth, inv); err != nil {
		return err
	}
	var set caps.Set
	set, r.epoch = auth.live(ctx)
	if len(r.input) == 0 {
		r.input = emptyObject
	}
	if err := g.resolve(ctx, r, set, inv.Operation); err != nil {
		return err
	}
	if r.op.bounded {
		r.auth = r.auth.WithAuthors(r.op.authors)
		set, r.epoch = r.auth.live(ctx)
	}
	if r.op.sealed && auth.trail.Inner {
		return fmt.Errorf("%s %w", r.op.path, ErrDirect)
	}
	var err error
	if r.call, err = g.prepare(ctx, r.op, r.input); err != nil {
		return err
	}
	if len(r.call.needs) == 0 {
		return fmt.Errorf("operation %s: %w", r.op.path, errNoRequirements)
	}
	if n := len(r.call.needs); n > MaxRequired {
		return &InputError{Operation: r.op.path, Err: fmt.Errorf("it requires %d things at once, at most %d: ask for less at a time", n, MaxRequired)}
	}
	for _, need := range r.call.needs {
		if err := need.Err(); err != nil {
			return &InputError{Operation: r.op.path, Err: err}
		}
	}
	if g.check(ctx, r, set); r.denial != nil {
		return r.denial
	}
	unfit := r.op.validate(ctx, r.input, auth.meter)
	if input, ok := errors.AsType[*InputError](unfit); unfit != nil && !(ok && input.Incomplete) {
		return unfit
	}
	asked, err := g.settle(r)
	if err != nil {
		return err
	}
	if unfit != nil {
		r.guard = asked
		return unfit
	}
	if err := g.direct(ctx, r, set); err != nil {
		return err
	}
	err = g.guard(ctx, r, asked)
	r.guard, _ = errors.AsType[*guardError](err)
	return err
}

// direct refuses a call that would only pass a call of a sealed operation on,
// whose secret would then stand in the records of both.
func (g *Gate) direct(ctx context.Context, r *Ruling, set caps.Set) error {
	at := Ruling{auth: r.auth, op: r.op, input: r.input}
	for range g.opts.MaxDepth {
		if !at.op.forwards {
			return nil
		}
		calls, _ := at.Starts()
		if len(calls) != 1 {
			return nil
		}
		if g.resolve(ctx, &at, set, calls[0].Operation) != nil {
			return nil //nolint:nilerr // what is told of it is told when it is called
		}
		if at.input = calls[0].Input; at.op.sealed {
			return fmt.Errorf("%s %w", at.op.path, ErrDirect)
		}
	}
	return nil
}

// acceptable checks what needs no operation: whose authority it is, and limits.
func (g *Gate) acceptable(ctx context.Context, auth Authority, inv Invocation) error {
	switch {
	case !auth.valid(g.mint):
		return errForeignAuthority
	case auth.trail.Depth >= g.opts.MaxDepth:
		return fmt.Errorf("%w: at most %d deep", ErrTooDeep, g.opts.MaxDepth)
	case len(inv.Input) > MaxInput:
		return fmt.Errorf("%w: %d bytes, at most %d", errTooLarge, len(inv.Input), MaxInput)
	}
	return context.Cause(ctx)
}

// Resolve returns the operation that a reference means for auth: what [Gate.Decide]
// would decide on. The error is a [*NotFoundError] or, of a name below o/ that
// auth may neither run nor read, a [*caps.Denial].
func (g *Gate) Resolve(ctx context.Context, auth Authority, reference string) (*Operation, error) {
	if !auth.valid(g.mint) {
		return nil, errForeignAuthority
	}
	r := Ruling{auth: auth}
	set, _ := auth.live(ctx)
	if err := g.resolve(ctx, &r, set, reference); err != nil {
		return nil, err
	}
	return r.op, nil
}

// resolve finds the operation. What lies below o/ in the owner's namespace is
// data, too: who may neither run nor read it is told the same whether or not
// anything is there.
func (g *Gate) resolve(ctx context.Context, r *Ruling, set caps.Set, reference string) (err error) {
	if r.op = g.registry.snapshot().direct[reference]; r.op != nil {
		return nil
	}
	if at, below := ownOperation(r.auth.owner, reference); below {
		run := set.Check(caps.NeedOn("invoke", at))
		if !run.Possible() && !set.Check(caps.NeedOn("crud/read", at)).Possible() {
			r.op = Placeholder(at.String())
			r.denial = run.Denial(r.op.path)
			r.reason = r.denial.Error()
			r.found = []decision{{Decision: run, unmet: true}}
			return r.denial
		}
	}
	r.op, err = g.registry.Resolve(ctx, r.auth.owner, set, reference, r.auth.meter)
	return err
}

// ownOperation parses a reference to an operation that a user keeps below o/.
func ownOperation(owner ucan.DID, reference string) (at caps.Resource, ok bool) {
	if len(reference) > maxReference {
		return at, false
	}
	at, err := caps.ParseResource(reference)
	if err != nil {
		return at, false
	}
	at = at.In(owner.String())
	return at, strings.HasPrefix(at.String(), "o/")
}

// check holds the requirements against what the caller may do, and notes what
// met each. After the first that nothing meets, no chain is searched any more.
func (g *Gate) check(ctx context.Context, r *Ruling, set caps.Set) {
	owner := r.auth.owner.String()
	r.found = r.inline[:0]
	for _, need := range r.call.needs {
		need = need.In(owner)
		f := decision{Decision: set.Check(need)}
		if r.denial == nil {
			g.grant(ctx, r, &f, set)
		}
		switch {
		case r.denial != nil:
		case !f.Possible():
			f.unmet = true
			r.denial = f.Denial(r.op.path)
			if _, expressly := f.ByDenial(); need.HandsOn() && !expressly {
				r.denial.Why = "An agent can hand on at most what it holds itself."
				if lacks := f.Lacks(caps.Facts{}, true); lacks != "" {
					r.denial.Why = "An agent can hand on at most what it holds itself, on its terms: " + lacks + "."
				}
			}
			if g.isDelegated(ctx, r.auth, need, r.input) {
				r.denial.Hint = "A delegation made out to you covers this; your own capabilities do not, until your owner adds " + need.String() + " to them."
			}
			if authors := r.auth.authors(); authors != "" && r.denial.Why == "" {
				r.denial.Why = "This was written by " + authors + ", and does at most what its author may, until you have looked at it and adopt it (agent:adopt)."
			}
			r.denial.BoundedBy = r.auth.bounder(ctx, func(set caps.Set) bool { d := set.Check(need); return d.Possible() })
			r.reason = r.denial.Error()
		case need.Resource().DID() != "":
			var err error
			f.proofs, err = g.prove(ctx, r.auth, need, r.input)
			// What is only handed on must be proved when it is signed.
			if err != nil && !need.HandsOn() {
				f.unmet, r.denial, r.reason = true, g.foreign(ctx, r.op.path, need, r.auth.owner, set, err), err.Error()
			}
		}
		r.found = append(r.found, f)
	}
}

// isDelegated reports whether an agent that acts by a key of its own is denied by its
// capabilities what was delegated to it. It is the audience, so it may know; an agent
// that acts as its owner may not know what the owner was given.
func (g *Gate) isDelegated(ctx context.Context, auth Authority, need caps.Request, input json.RawMessage) bool {
	life := auth.Life()
	if life == "" || life.Owner() == auth.owner.String() || need.Resource().DID() == "" || need.HandsOn() {
		return false
	}
	_, err := g.prove(ctx, auth, need, input)
	return err == nil
}

// prove finds the chain of delegations by which the caller may do what it asks
// in another principal's namespace: from the store of tokens, and from those
// that the caller brought along.
func (g *Gate) prove(ctx context.Context, auth Authority, need caps.Request, input json.RawMessage) (chain []string, err error) {
	if g.opts.Chains == nil {
		return nil, errNoChains
	}
	grant, err := g.opts.Chains.Authorize(ctx, ucan.Query{Caller: auth.owner, Request: need, Tokens: auth.proofs, Search: true, Input: input})
	if err != nil {
		return nil, err
	}
	for _, cid := range grant.Chain() {
		chain = append(chain, cid.String())
	}
	return chain, nil
}

// foreign is what a caller is told who has no chain for another principal's
// resource: the same whatever the chain lacks, and whether or not anything is
// there. It lists what the caller does have by delegation in that namespace. The
// ledger has the reason.
func (g *Gate) foreign(ctx context.Context, op string, need caps.Request, me ucan.DID, held caps.Set, err error) *caps.Denial {
	d := &caps.Denial{
		Operation: op, Ability: need.Ability(), Resource: need.Resource().String(), Capabilities: held,
		Why: "The resource belongs to another user, who has delegated nothing for this call.",
	}
	if errors.Is(err, ucan.ErrBudget) {
		d.Why = "The resource belongs to another user, and the search for a delegation was cut short: send the tokens along."
	}
	owner, err := ucan.ParseDID(need.Resource().DID())
	if err != nil || g.opts.Chains == nil {
		return d
	}
	// An error lists nothing, as having nothing does.
	list, _ := g.opts.Chains.Delegations(ctx, me, owner)
	if there := caps.Of(list...).Intersect(held); !there.IsEmpty() || held.IsUnrestricted() {
		d.Capabilities = there
	}
	return d
}

// Requirements says what a call with this input would need of whoever makes it:
// the same as [Gate.Decide] asks for, without a caller.
func (o *Operation) Requirements(input json.RawMessage) ([]caps.Request, error) {
	p, err := o.decode(input)
	if err != nil {
		return nil, err
	}
	for _, need := range p.needs {
		if err := need.Err(); err != nil {
			return nil, &InputError{Operation: o.path, Err: err}
		}
	}
	return p.needs, nil
}
