package caps

// Check decides r. It allocates nothing, whatever it decides.
//
// The rules are COG-13's "Matching Algorithm", by segment. An unrestricted set
// allows every valid request but those made by [Never]; a request without a
// resource is decided by its ability alone, of a capability that is not about
// another principal's namespace: what runs without a resource runs at home.
func (s Set) Check(r Request) Decision {
	return Decision{r, s, s.c.decide(r.can, r.on.text, r.kind)}
}

// decide is [Set.Check] without what a [Decision] carries beside the verdict.
func (c *compiled) decide(can Ability, on string, kind requestKind) verdict {
	switch {
	case c == nil:
	case c == unrestricted:
		if kind >= onAbility {
			return 1
		}
	case kind >= onResource && len(c.resources) == 1:
		return c.resources[0].lookup(on, c.chain(can).mask)
	case kind >= onResource:
		return c.search(can, on)
	case kind == onAbility:
		return c.chain(can).home
	}
	return 0
}

// Covers reports whether t is nowhere wider than s. An unrestricted t needs an
// unrestricted s.
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
	return true
}

// Missing returns the capabilities of t that none of s covers, in t's order. For
// an unrestricted t and a restricted s that is {"", "*"}, the widest there is to
// write.
func (s Set) Missing(t Set) []Capability {
	switch {
	case s.IsUnrestricted():
		return nil
	case t.IsUnrestricted():
		return []Capability{{with: "", can: anyAbility}}
	}
	var missing []Capability
	for _, c := range t.list() {
		if !s.holds(c) {
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
	return s.c.decide(c.can, c.Resource().text, onResource).allowed()
}
