package tools

import (
	"context"
	"slices"

	"usher/caps"
	"usher/ucan"
)

// Bound is what somebody's authority was bounded by when something was made that
// lasts: an agent, a stored program, a token. What was made is bounded by it for
// as long as it lasts, by each life as that life is at the time of use. The zero
// value bounds nothing: it is that of a user in person. It is plain data.
type Bound struct {
	Lives  []Life   `json:"lives,omitempty"`
	Within []narrow `json:"within,omitempty"`
}

// narrow is a set of capabilities as one principal writes them.
type narrow struct {
	Caps caps.Set `json:"caps"`
	As   ucan.DID `json:"as"`
}

// IsZero reports whether b bounds nothing.
func (b Bound) IsZero() bool { return len(b.Lives) == 0 && len(b.Within) == 0 }

// And returns what is bounded by both.
func (b Bound) And(other Bound) Bound {
	if other.IsZero() {
		return b
	}
	out := Bound{Lives: union(b.Lives, other.Lives), Within: slices.Clone(b.Within)}
	for _, n := range other.Within {
		if !slices.ContainsFunc(out.Within, n.equal) {
			out.Within = append(out.Within, n)
		}
	}
	return out
}

func (n narrow) equal(m narrow) bool { return n.As == m.As && n.Caps.Equal(m.Caps) }

// union returns what is in a or b, once.
func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// live returns what everybody in b may do at this moment at once, as owner
// writes it.
func (b Bound) live(ctx context.Context, lives Lives, owner ucan.DID) caps.Set {
	set := caps.Unrestricted()
	for _, l := range b.Lives {
		held, principal := lives.Live(ctx, l)
		if held.IsEmpty() {
			return caps.Set{}
		}
		set = set.Intersect(held.AsSeenBy(owner.String(), principal.String()))
	}
	for _, n := range b.Within {
		set = set.Intersect(n.Caps.AsSeenBy(owner.String(), n.As.String()))
	}
	return set
}

// Author is who wrote something that is stored and executed later: what bounded
// the writer, and the principals as whom it was written. The zero value is nobody.
type Author struct {
	Bound
	As []ucan.DID `json:"as,omitempty"`
}

// Author is the authority as the author of what it stores.
func (a Authority) Author() Author {
	if a.lineage == nil {
		return Author{}
	}
	out := Author{Bound: a.bound}
	for i := len(a.chain) - 1; i >= 0; i-- {
		out.As = union(out.As, []ucan.DID{a.chain[i].Owner})
		if a.chain[i].Own {
			break
		}
	}
	return out
}

// And returns the authors of what both wrote.
func (a Author) And(b Author) Author { return Author{a.Bound.And(b.Bound), union(a.As, b.As)} }

// In returns what bounds a program of the author in the namespace of owner. One
// that was written as another principal may do nothing there, until its owner
// adopts it: what that principal may reach is said by tokens, and not by what its
// agents hold.
func (a Author) In(owner ucan.DID) Bound {
	if slices.ContainsFunc(a.As, func(p ucan.DID) bool { return p != owner }) {
		return a.Bound.And(Bound{Within: []narrow{{caps.Set{}, owner}}})
	}
	return a.Bound
}
