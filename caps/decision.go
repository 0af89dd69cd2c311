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
// capability that allows, plus 1. Above that it has what the terms of capabilities make
// of it.
type verdict uint32

const (
	open      verdict = 1 << 30 // it takes the facts of the call; below stands what allows it if no denial does
	asked     verdict = 2 << 30 // allowed by what stands below once a person was asked
	forbidden verdict = 3 << 30 // denied by what stands below, expressly
)

func (v verdict) isAllowed() bool { return v != 0 && v < open }

// is reports what terms make of the verdict.
func (v verdict) is(outcome verdict) bool { return v&forbidden == outcome }

// by is the index of the capability that stands below.
func (v verdict) by() int { return int(v&^forbidden) - 1 }

// IsAllowed reports whether the request may go on. Where that depends on the call, see
// [Decision.Open], it is not allowed.
func (d Decision) IsAllowed() bool { return d.verdict.isAllowed() }

// Open reports whether the terms of a capability bear on the request, so that
// [Decision.Settle] decides it.
func (d Decision) Open() bool { return d.verdict.is(open) }

// IsAsk reports whether the request may go on once a person has allowed it.
func (d Decision) IsAsk() bool { return d.verdict.is(asked) }

// Possible reports whether the request is allowed, or could be once it is settled.
func (d Decision) Possible() bool { return d.verdict != 0 && !d.verdict.is(forbidden) }

// By returns the capability that allowed the request, by itself or after asking;
// false where it was denied or is open, or where the set is unrestricted.
func (d Decision) By() (Capability, bool) {
	if !d.IsAllowed() && !d.IsAsk() || d.set.IsUnrestricted() {
		return Capability{}, false
	}
	return d.set.c.list[d.verdict.by()], true
}

// ByDenial returns the capability that denies the request expressly, if one does.
func (d Decision) ByDenial() (Capability, bool) {
	if !d.verdict.is(forbidden) {
		return Capability{}, false
	}
	return d.set.c.list[d.verdict.by()], true
}

// Request returns what was decided.
func (d Decision) Request() Request { return d.request }

// Denial returns what to tell whoever asked for operation, or nil where the
// request was allowed.
func (d Decision) Denial(operation string) *Denial {
	if d.IsAllowed() || d.IsAsk() {
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
	case d.Open():
		denial.Why = "What covers it does so on terms that were not looked at."
	case d.request.kind == invalid:
		denial.Why = "The request is invalid: " + d.request.Err().Error() + "."
	case d.request.fault != nil && d.request.kind == never:
		denial.Why = d.request.fault.why
	case d.set.c == crowded:
		denial.Why = fmt.Sprintf("What bounds this call has more than %d capabilities in common, or %d where any has terms, so none of them counts: write fewer or wider ones.", maxIntersection, maxTerms)
	default:
		denial.Hint = d.set.hint(d.request)
	}
	return denial
}
