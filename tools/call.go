package tools

import (
	"context"
	"encoding/json"
	"strconv"

	"usher/caps"
	"usher/ucan"
)

// At says where in its run a call is made: which call of an answer that stands in
// the log, or which step. The zero value is a call that is not made again.
type At struct {
	Event uint64 // number of the answer in the log of the session; 0 outside of turns
	N     int    // 1 for the first
}

// In is the key of the call in a run: "<run>/<event>.<n>"; empty for a call that is
// not made again.
func (a At) In(run string) string {
	if a.N == 0 || run == "" {
		return ""
	}
	return run + "/" + strconv.FormatUint(a.Event, 10) + "." + strconv.Itoa(a.N)
}

// Call is what a handler is given: the ticket that the gate made out for one
// run of one operation. The zero value belongs to nobody and can do nothing.
type Call struct{ ticket *ticket }

type ticket struct {
	Ruling
	gate   *Gate
	at     At
	key    string     // that the caller gave
	opened *secretSet // nil where the input has no handles
}

// nobodys is the ticket of the zero Call: its gate, which has no mint, lets nobody in.
var nobodys = &ticket{Ruling: Ruling{op: new(Operation)}, gate: new(Gate)}

func (c Call) mine() *ticket {
	if c.ticket == nil {
		return nobodys
	}
	return c.ticket
}

// Owner is the principal whose namespace the call works in.
func (c Call) Owner() ucan.DID { return c.Authority().Owner() }

// Actor is the id of the calling agent; empty for the owner in person.
func (c Call) Actor() string { return c.Authority().Actor() }

// Caps returns the caller's effective capabilities as they are now.
func (c Call) Caps() caps.Set { return c.Authority().Caps() }

// Operation is the catalogue path of the operation that runs.
func (c Call) Operation() string { return c.mine().op.path }

// Authority is the caller's authority, one level deeper: what an operation
// that starts others passes on.
func (c Call) Authority() Authority { return c.mine().auth }

// InRun returns the call with what it starts recorded under the run.
func (c Call) InRun(id string) Call {
	t := *c.mine()
	t.auth = t.auth.InRun(id)
	return Call{&t}
}

// Key names the call for whatever does once what it is asked twice for: the call
// that a run makes again after a crash has the same one, as has one that a caller makes
// again under a name, and no other call has it. It is empty for a call that is not made
// again.
func (c Call) Key() string {
	if t := c.mine(); t.key != "" {
		return t.key
	}
	return c.mine().at.In(c.Authority().Run())
}

// Meter counts what the call costs. Its errors say which limit all that came of the
// first call has reached, or why ctx has ended: stop, and return them.
func (c Call) Meter() *Meter { return c.Authority().meter }

// Again checks the requirements of the call once more, against the authority as
// it is now: for a handler whose effect is conditional on what it read, after it
// read it. The error is the [*caps.Denial] that a call made now would get.
func (c Call) Again(ctx context.Context) error {
	t := c.mine()
	if !t.auth.valid(t.gate.mint) {
		return errForeignAuthority
	}
	again := Ruling{auth: t.auth, op: t.op, input: t.input, call: t.call}
	set, _ := again.auth.live(ctx)
	if t.gate.check(ctx, &again, set); again.denial != nil {
		return again.denial
	}
	asked, err := t.gate.settle(&again)
	if asked != nil && t.guard == nil && t.grant == nil { // nobody was asked
		return asked
	}
	return err
}

// Check decides a requirement that comes up within the call, as the gate decides
// those that it began with: by the call's input, and the time. Where a person has to
// be asked it is not allowed, unless the call itself was one to ask about.
func (c Call) Check(need caps.Request) *caps.Denial {
	t := c.mine()
	set, facts := c.Caps(), caps.Facts{}
	d := set.Check(need.In(c.Owner().String()))
	if d.Open() {
		facts, _ = t.gate.facts(&t.Ruling) // of what cannot be read nothing is known
		d = d.Settle(facts)
	}
	switch {
	case d.IsAsk() && t.guard == nil && t.grant == nil:
		return &caps.Denial{
			Operation: t.op.path, Ability: need.Ability(), Resource: need.Resource().String(), Capabilities: set,
			Why: "A person has to allow it first, and was not asked.",
		}
	case d.IsAllowed(), d.IsAsk():
		return nil
	}
	return t.withheld(d, facts, false)
}

// Resolve finds the operation that a reference means for the caller, as
// [Call.Invoke] would.
func (c Call) Resolve(ctx context.Context, reference string) (*Operation, error) {
	return c.mine().gate.Resolve(ctx, c.Authority(), reference)
}

// Invoke runs another operation with the caller's own authority. It goes
// through the gate like any call.
func (c Call) Invoke(ctx context.Context, reference string, input json.RawMessage) (Result, error) {
	return c.InvokeAt(ctx, At{}, reference, input)
}

// InvokeAt is [Call.Invoke] for a call that the run makes again after a crash: see
// [Call.Key].
func (c Call) InvokeAt(ctx context.Context, at At, reference string, input json.RawMessage) (Result, error) {
	return c.mine().gate.Invoke(ctx, c.Authority(), Invocation{Operation: reference, Input: input, At: at})
}
