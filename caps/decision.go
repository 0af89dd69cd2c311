package caps

import "fmt"

// Decision is the outcome of [Set.Check], with what it rests on. The zero value
// is a denial.
type Decision struct {
	request Request
	set     Set
	verdict verdict
	outcome outcome
}

// outcome is what the terms of capabilities make of a decision.
type outcome uint8

const (
	settled   outcome = iota // the verdict says it: no terms bear on it, or they hold
	open                     // it takes the facts of the call
	asked                    // allowed by the verdict once a person was asked
	forbidden                // denied by the verdict, expressly
)

// verdict is 0 for a denial; otherwise, in a restricted set, the index of the
// capability that allows, plus 1.
type verdict uint32

func (v verdict) allowed() bool { return v != 0 }

// Allowed reports whether the request may go on. Where that depends on the call, see
// [Decision.Open], it is not allowed.
func (d Decision) Allowed() bool { return d.verdict.allowed() && d.outcome == settled }

// Open reports whether the terms of a capability bear on the request, so that
// [Decision.Settle] decides it.
func (d Decision) Open() bool { return d.outcome == open }

// Asked reports whether the request may go on once a person has allowed it.
func (d Decision) Asked() bool { return d.outcome == asked }

// Possible reports whether the request is allowed, or could be once it is settled.
func (d Decision) Possible() bool {
	return d.Allowed() || d.outcome == asked || d.outcome == open
}

// By returns the capability that allowed the request, by itself or after asking;
// false where it was denied or is open, or where the set is unrestricted.
func (d Decision) By() (Capability, bool) {
	if !d.Allowed() && !d.Asked() || d.set.IsUnrestricted() {
		return Capability{}, false
	}
	return d.set.c.list[d.verdict-1], true
}

// ByDenial returns the capability that denies the request expressly, if one does.
func (d Decision) ByDenial() (Capability, bool) {
	if d.outcome != forbidden {
		return Capability{}, false
	}
	return d.set.c.list[d.verdict-1], true
}

// Request returns what was decided.
func (d Decision) Request() Request { return d.request }

// Denial returns what to tell whoever asked for operation, or nil where the
// request was allowed.
func (d Decision) Denial(operation string) *Denial {
	if d.Allowed() || d.Asked() {
		return nil
	}
	denial := &Denial{
		Operation:    operation,
		Ability:      d.request.can,
		Resource:     d.request.on.String(),
		Capabilities: d.set,
	}
	by, expressly := d.ByDenial()
	switch {
	case expressly:
		denial.Why = "It is denied expressly, by " + by.String() + "."
	case d.outcome == open:
		denial.Why = "What covers it does so on terms that were not looked at."
	case d.request.kind == invalid:
		denial.Why = "The request is invalid: " + d.request.Err().Error() + "."
	case d.request.fault != nil && d.request.kind == never:
		denial.Why = d.request.fault.why
	case d.set.c == crowded:
		denial.Why = fmt.Sprintf("What bounds this call has more than %d capabilities in common, so none of them counts: write fewer or wider ones.", maxIntersection)
	default:
		denial.Hint = d.set.hint(d.request)
	}
	return denial
}
