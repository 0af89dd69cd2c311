package caps

import "strings"

// Capability grants an ability on a resource and all below it. It is made by
// [NewCapability] or by decoding; the zero value grants nothing.
type Capability struct {
	// with is the canonical text, plus the trailing slash where one was written:
	// it changes nothing but what is shown. The "//" of a bare scheme ends in a
	// slash of the same kind.
	with string
	can  Ability
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

// Covers reports whether c grants all that d grants.
func (c Capability) Covers(d Capability) bool {
	return c.can.Covers(d.can) && c.Resource().Covers(d.Resource())
}

// Equal reports whether c and d grant the same.
func (c Capability) Equal(d Capability) bool {
	return c.can == d.can && c.Resource() == d.Resource()
}

// String returns e.g. "crud/read on w/decisions/"; the root prints "(any)".
func (c Capability) String() string {
	return string(c.can) + " on " + orAny(c.with)
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
	return Capability{with: bare.text + tail, can: c.can}
}

func orAny(resource string) string {
	if resource == "" {
		return "(any)"
	}
	return resource
}
