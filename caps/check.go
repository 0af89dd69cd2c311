package caps

import "slices"

// Check decides r. It allocates nothing, whatever it decides.
//
// The rules are COG-13's "Matching Algorithm", by segment. An unrestricted set
// allows every valid request but those made by [Never]; a request without a
// resource is decided by its ability alone, of a capability that is not about
// another principal's namespace: what runs without a resource runs at home.
//
// It matches the two fields of capabilities. Where the [Terms] of one bear on the
// request, it is left open, and so not allowed, until [Decision.Settle] decides.
func (s Set) Check(r Request) Decision {
	return Decision{r, s, s.c.decide(r.can, r.on.text, r.kind, r.fault)}
}

// decide is [Set.Check] without what a [Decision] carries beside the verdict.
func (c *program) decide(can Ability, on string, kind requestKind, more *fault) (v verdict) {
	switch {
	case c == nil:
		return 0
	case c == unrestricted:
		if kind >= onAbility {
			return 1
		}
		return 0
	case kind >= onResource:
		v = c.search(can, on)
	case kind == onAbility:
		v = c.home.search(can)
	}
	if c.aside != nil {
		v = c.weigh(v, &Request{can, Resource{on}, more, kind})
	}
	return v
}

// Covers reports whether t is nowhere wider than s, in any of their terms, as far as
// one capability against another tells: what s denies t denies, too. An unrestricted
// t needs an unrestricted s.
func (s Set) Covers(t Set) bool {
	switch {
	case s.IsUnrestricted(), t.IsEmpty():
		return true
	case t.IsUnrestricted():
		return false
	}
	for _, c := range t.c.list {
		if !s.holds(c) {
			return false
		}
	}
	return s.IsPlain() || !slices.ContainsFunc(s.c.aside.denies, func(i int) bool {
		return !slices.ContainsFunc(t.c.list, func(c Capability) bool { return c.Covers(s.c.list[i]) })
	})
}

// Gaps returns the capabilities of t that s cannot hand on, in t's order: none of
// s covers them on their terms, or s denies them as a whole and for good. Whatever
// else s denies goes with what it hands on, see [Set.WithDenials]. For an unrestricted t and a restricted s that is {"", "*"}, the widest there is
// to write.
func (s Set) Gaps(t Set) []Capability {
	switch {
	case s.IsUnrestricted():
		return nil
	case t.IsUnrestricted():
		return []Capability{{can: anyAbility}}
	}
	var missing []Capability
	for _, c := range t.list() {
		if !c.Denies() && !s.Check(NeedHolding(c)).IsAllowed() {
			missing = append(missing, c)
		}
	}
	return missing
}

// Equal reports whether s and t allow the same: order, duplicates, capabilities
// that another one covers and trailing slashes do not count.
func (s Set) Equal(t Set) bool { return s.Covers(t) && t.Covers(s) }

// holds reports whether one capability of the restricted s covers c. What covers
// c's own resource and ability covers all below them.
func (s Set) holds(c Capability) bool {
	switch {
	case c.Denies():
		return true
	case s.c == nil:
		return false
	case s.c.search(c.can, c.Resource().text).isAllowed():
		return true
	}
	return s.c.aside != nil && slices.ContainsFunc(s.c.aside.grants, func(i int) bool { return s.c.list[i].Covers(c) })
}
