package caps

import (
	"errors"
	"fmt"
)

type requestKind uint8

// The zero kind is invalid, so that a Request nobody filled in is never allowed.
const (
	invalid requestKind = iota
	never
	onAbility
	onResource
	handsOn // by NeedHolding: on a resource, too
)

// Request is one requirement of a call: an ability, on a resource or on none.
// The zero value is invalid and never allowed.
type Request struct {
	can   Ability
	on    Resource
	fault *fault // only where kind is invalid or never, or terms are handed on
	kind  requestKind
}

// fault says why a request cannot be allowed at all, or what it hands on.
type fault struct {
	err   error
	why   string
	terms *terms
}

// Need returns the requirement of can on resource. A malformed ability or
// resource makes it invalid: see [Request.Err].
func Need(can, resource string) Request {
	on, err := ParseResource(resource)
	if err != nil {
		return Invalid(err)
	}
	return NeedOn(Ability(can), on)
}

// NeedOn is [Need] for a resource that was parsed already.
func NeedOn(can Ability, r Resource) Request { return need(onResource, can, r) }

// NeedAbility returns the requirement of an operation without a derivable
// resource: the ability alone decides (COG-13, "Resource Extraction").
func NeedAbility(can string) Request { return need(onAbility, Ability(can), Resource{}) }

func need(kind requestKind, can Ability, r Resource) Request {
	a, err := ParseAbility(string(can))
	if err != nil {
		return Invalid(err)
	}
	return Request{can: a, on: r, kind: kind}
}

// Never returns a requirement that nothing satisfies, not even an unrestricted
// set: for what no capability can grant. why is a sentence that follows the
// text of the denial. A malformed ability or resource makes it invalid.
func Never(can, resource, why string) Request {
	r := Need(can, resource)
	if r.kind == onResource {
		r.kind, r.fault = never, &fault{why: why}
	}
	return r
}

// Invalid returns the request of a call whose input is wrong, e.g. because a
// required path is missing. It is never allowed, and [Request.Err] is err.
func Invalid(err error) Request {
	if err == nil {
		err = errors.New("the call is invalid: no reason was given")
	}
	return Request{kind: invalid, fault: &fault{err: err}}
}

// Err returns why the request is invalid, or nil. An invalid request is an error
// in the call's input, to be reported as such rather than as a denial.
func (r Request) Err() error {
	switch {
	case r.kind != invalid:
		return nil
	case r.fault == nil:
		return errors.New("the request is empty: make it with Need, NeedOn or NeedAbility")
	}
	return r.fault.err
}

// In rewrites the owner's own DID URL to the bare form.
func (r Request) In(owner string) Request {
	r.on = r.on.In(owner)
	return r
}

// NeedHolding returns the requirement that the caller itself holds c: what a call
// that hands c on requires, so that authority only narrows (COG-13,
// "Attenuation Rule").
func NeedHolding(c Capability) Request {
	r := need(handsOn, c.can, c.Resource())
	if r.kind == handsOn && c.terms != nil {
		r.fault = &fault{terms: c.terms}
	}
	return r
}

// handOver is the capability that a request of [NeedHolding] hands on.
func (r *Request) handOver() Capability {
	c := Capability{with: r.on.String(), can: r.can}
	if r.fault != nil {
		c.terms = r.fault.terms
	}
	return c
}

// HandsOn reports whether the request is one of [NeedHolding]: nothing is done on
// the resource, the capability is only handed on.
func (r Request) HandsOn() bool { return r.kind == handsOn }

// Ability returns the ability required.
func (r Request) Ability() Ability { return r.can }

// Resource returns the resource required; the root where there is none.
func (r Request) Resource() Resource { return r.on }

// Target returns the resource as denials print it: "(any)" where there is none
// and for the root.
func (r Request) Target() string { return orAny(r.on.String()) }

// HasResource reports whether the request names a resource. Where it does not,
// the ability alone decides.
func (r Request) HasResource() bool { return r.kind >= onResource || r.kind == never }

// String returns e.g. "crud/read on w/notes".
func (r Request) String() string {
	switch r.kind {
	case invalid:
		return fmt.Sprintf("invalid request: %v", r.Err())
	case onAbility:
		return string(r.can)
	}
	return string(r.can) + " on " + r.Target()
}
