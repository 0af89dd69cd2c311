package caps

import "fmt"

// Decision is the outcome of [Set.Check], with what it rests on. The zero value
// is a denial.
type Decision struct {
	request Request
	set     Set
	verdict verdict
}

// verdict is 0 for a denial; otherwise, in a restricted set, the index of the
// capability that allows, plus 1.
type verdict uint32

func (v verdict) allowed() bool { return v != 0 }

// Allowed reports whether the request may go on.
func (d Decision) Allowed() bool { return d.verdict.allowed() }

// By returns the capability that allowed the request; false where it was denied,
// or where the set is unrestricted.
func (d Decision) By() (Capability, bool) {
	if !d.Allowed() || d.set.IsUnrestricted() {
		return Capability{}, false
	}
	return d.set.c.list[d.verdict-1], true
}

// Request returns what was decided.
func (d Decision) Request() Request { return d.request }

// Denial returns what to tell whoever asked for operation, or nil where the
// request was allowed.
func (d Decision) Denial(operation string) *Denial {
	if d.Allowed() {
		return nil
	}
	denial := &Denial{
		Operation:    operation,
		Ability:      d.request.can,
		Resource:     d.request.on.String(),
		Capabilities: d.set,
	}
	switch {
	case d.request.kind == invalid:
		denial.Why = "The request is invalid: " + d.request.Err().Error() + "."
	case d.request.fault != nil:
		denial.Why = d.request.fault.why
	case d.set.c == crowded:
		denial.Why = fmt.Sprintf("What bounds this call has more than %d capabilities in common, so none of them counts: write fewer or wider ones.", maxIntersection)
	default:
		denial.Hint = d.set.hint(d.request)
	}
	return denial
}
