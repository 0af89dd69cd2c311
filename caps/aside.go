package caps

import (
	"slices"
	"time"
)

// aside is what of a set has terms: it is kept apart from what is compiled, so that
// a plain set costs what it costs. It is looked through one by one.
type aside struct {
	grants []int // of the list, those that ask last
	denies []int
}

// setAside sorts out what of list has terms; nil where nothing has.
func setAside(list []Capability) *aside {
	var out aside
	var asks []int
	for i, c := range list {
		switch {
		case c.IsPlain():
		case c.Denies():
			out.denies = append(out.denies, i)
		case c.Asks():
			asks = append(asks, i)
		default:
			out.grants = append(out.grants, i)
		}
	}
	if out.grants = append(out.grants, asks...); len(out.grants)+len(out.denies) == 0 {
		return nil
	}
	return &out
}

// IsPlain reports whether no capability of s has terms.
func (s Set) IsPlain() bool { return s.c == nil || s.c.aside == nil }

// matches reports whether the two fields of a grant cover r.
func (c Capability) matches(r *Request) bool {
	if !c.can.Covers(r.can) {
		return false
	}
	if r.kind == onAbility {
		return c.Resource().DID() == ""
	}
	return c.Resource().Covers(r.on)
}

// touches reports whether a denial bears on r: on what it covers, and on what
// contains something of that. What has no resource is touched by a denial of all.
func (c Capability) touches(r *Request) bool {
	if !c.can.Covers(r.can) && !r.can.Covers(c.can) {
		return false
	}
	if r.kind == onAbility {
		return c.Resource().IsRoot()
	}
	return c.Resource().Covers(r.on) || r.on.Covers(c.Resource())
}

// Bars reports whether c denies all of d, for good and whatever is asked.
func (c Capability) Bars(d Capability) bool { return c.Denies() && c.terms.always() && c.spans(d) }

// always reports whether a denial stands whenever and whatever is asked.
func (t *terms) always() bool { return t.until.IsZero() && len(t.when) == 0 }

// weigh adds to the verdict of the plain capabilities what those with terms say
// without a look at the call.
func (c *program) weigh(plain verdict, r *Request) verdict {
	switch r.kind {
	case invalid, never:
		return plain
	case handsOn:
		return c.hand(plain, r.handOver())
	}
	if !plain.isAllowed() && !slices.ContainsFunc(c.aside.grants, func(i int) bool { return c.list[i].matches(r) }) {
		return 0
	}
	v := plain
	if !plain.isAllowed() {
		v = open
	}
	for _, i := range c.aside.denies {
		switch {
		case !c.list[i].touches(r):
		case c.list[i].terms.always():
			return forbidden | verdict(i+1)
		default:
			v |= open
		}
	}
	return v
}

// hand decides whether d may be handed on: something held gives all of it, on no
// tighter terms, and it is not denied as a whole for good.
func (c *program) hand(plain verdict, d Capability) verdict {
	for _, i := range c.aside.denies {
		if c.list[i].Bars(d) {
			return forbidden | verdict(i+1)
		}
	}
	for _, i := range c.aside.grants {
		if !plain.isAllowed() && c.list[i].Covers(d) {
			return verdict(i + 1)
		}
	}
	return plain
}

// At returns what is left of s at a moment: without what has ended. It is s itself
// where nothing has.
func (s Set) At(now time.Time) Set {
	if s.IsPlain() {
		return s
	}
	var left []Capability
	for i, c := range s.c.list {
		switch over := c.terms != nil && c.terms.over(now); {
		case over && left == nil:
			left = append(make([]Capability, 0, len(s.c.list)), s.c.list[:i]...)
		case !over && left != nil:
			left = append(left, c)
		}
	}
	if left == nil {
		return s
	}
	return Set{compile(left)}
}
