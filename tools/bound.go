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
	Within []Narrow `json:"within,omitempty"`
}

// Narrow is a set of capabilities as one principal writes them.
type Narrow struct {
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

func (n Narrow) equal(m Narrow) bool { return n.As == m.As && n.Caps.Equal(m.Caps) }

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

// Live returns what everybody in b may do at this moment at once, as owner
// writes it.
func (b Bound) Live(ctx context.Context, lives Lives, owner ucan.DID) caps.Set {
	set := caps.Unrestricted()
	for _, l := range b.Lives {
		held, principal := lives.Live(ctx, l)
		if held.IsEmpty() {
			return caps.Set{}
		}
		set = set.Intersect(held.SeenBy(owner.String(), principal.String()))
	}
	for _, n := range b.Within {
		set = set.Intersect(n.Caps.SeenBy(owner.String(), n.As.String()))
	}
	return set
}
