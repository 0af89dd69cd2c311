package caps

import (
	"cmp"
	"strings"
)

// Capability grants an ability on a resource and all below it, on its terms, see
// [Terms]. It is made by [NewCapability] or by decoding; the zero value grants nothing.
type Capability struct {
	// with is the canonical text, plus the trailing slash where one was written:
	// it changes nothing but what is shown. The "//" of a bare scheme ends in a
	// slash of the same kind.
	with  string
	can   Ability
	terms *terms
}

// NewCapability returns the capability {with, can}. Both are checked as by
// [ParseResource] and [ParseAbility].
func NewCapability(with, can string) (Capability, error) {
	r, err := ParseResource(with)
	if err != nil {
		return Capability{}, err
	}
	a, err := ParseAbility(can)
	if err != nil {
		return Capability{}, err
	}
	display := r.String()
	if !r.IsRoot() && !r.isSchemeRoot() && strings.HasSuffix(with, "/") {
		display += "/"
	}
	return Capability{with: display, can: a}, nil
}

// MustCapability is [NewCapability] for literals: it panics on an error.
func MustCapability(with, can string) Capability {
	c, err := NewCapability(with, can)
	if err != nil {
		panic("caps: " + err.Error())
	}
	return c
}

// With returns the resource for display: canonical, with the trailing slash that
// was written.
func (c Capability) With() string { return c.with }

// Resource returns the resource granted.
func (c Capability) Resource() Resource { return Resource{strings.TrimSuffix(c.with, "/")} }

// Can returns the ability granted.
func (c Capability) Can() Ability { return c.can }

// Covers reports whether c grants all that d grants, or denies all that d denies.
func (c Capability) Covers(d Capability) bool {
	switch {
	case c.Denies() != d.Denies() || !c.spans(d):
		return false
	case c.Denies():
		return c.terms.outlasts(d.terms)
	}
	return d.terms.within(c.terms)
}

// spans is [Capability.Covers] of the two fields.
func (c Capability) spans(d Capability) bool {
	return c.can.Covers(d.can) && c.Resource().Covers(d.Resource())
}

// Equal reports whether c and d say the same.
func (c Capability) Equal(d Capability) bool {
	return c.can == d.can && c.Resource() == d.Resource() && c.terms.equal(d.terms)
}

// String returns e.g. "crud/read on w/decisions/", "crud on w/refunds/ when /amount
// is at most 100" or "never: crud on w/secret"; the root prints "(any)".
func (c Capability) String() string {
	text := string(c.can) + " on " + orAny(c.with) + c.terms.String()
	if c.Denies() {
		return "never: " + text
	}
	return text
}

// in rewrites the owner's own DID URL to the bare form.
func (c Capability) in(owner string) Capability {
	own := c.Resource()
	bare := own.In(owner)
	if bare == own {
		return c
	}
	tail := c.with[len(own.text):] // the slash that was written
	if bare.IsRoot() {
		tail = ""
	}
	return Capability{with: bare.text + tail, can: c.can, terms: c.terms}
}

func orAny(resource string) string {
	return cmp.Or(resource, "(any)")
}
