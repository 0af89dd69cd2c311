package caps

import "slices"

// Intersect returns the set that allows, on resources, exactly what both s and t
// allow: what either asks for is asked for, and what either denies is denied. An
// unrestricted set changes nothing, and where one of them covers the
// other, the other is returned as it is. Otherwise it is of each pair the longer
// resource with the longer ability, where one covers the other in both parts;
// capabilities that another one covers are left out, and the order follows s,
// then t.
//
// A request without a resource may be allowed by both and not by the
// intersection: s and t may hold the ability in places that do not meet.
//
// Two sets can have as much in common as the product of their lengths. What is
// more than 4096, or 1024 where any has terms, and more than the sum of their lengths holds nothing, and its
// denials say so.
func (s Set) Intersect(t Set) Set {
	switch {
	case s.c == t.c, t.IsUnrestricted(), s.IsEmpty():
		return s
	case s.IsUnrestricted(), t.IsEmpty():
		return t
	case t.Covers(s):
		return s
	case s.Covers(t):
		return t
	case !s.IsPlain() || !t.IsPlain():
		return s.intersectTerms(t)
	}
	s.c, t.c = s.c.minimal(), t.c.minimal()
	most := max(maxIntersection, s.Len()+t.Len())
	within := make([]verdict, t.Len()) // by which of s
	for j, b := range t.c.list {
		within[j] = s.c.search(b.can, b.Resource().text)
	}
	var list []Capability
	for i, a := range s.c.list {
		if t.holds(a) {
			list = append(list, a)
			continue
		}
		for j, b := range t.c.list {
			if within[j].isAllowed() && within[j] != verdict(i+1) {
				continue // what it has in common with a lies within what it has with another
			}
			if both, ok := a.meet(b); ok {
				list = append(list, both)
			}
			if len(list) > most {
				return Set{crowded}
			}
		}
	}
	if len(list) > most {
		return Set{crowded}
	}
	return Set{compile(list).minimal()}
}

// intersectTerms is [Set.Intersect] of restricted sets of which one has terms: of each
// pair of grants what they have in common, on the terms of both, and all denials that
// bear on it.
func (s Set) intersectTerms(t Set) Set {
	most := max(maxTerms, s.Len()+t.Len())
	var list []Capability
	for _, a := range s.c.list {
		for _, b := range t.c.list {
			if both, ok := a.meet(b); ok && !a.Denies() && !b.Denies() {
				list = append(list, both)
			}
			if len(list) > most {
				return Set{crowded}
			}
		}
	}
	grants := len(list)
	for _, c := range slices.Concat(s.c.list, t.c.list) {
		if c.Denies() && slices.ContainsFunc(list[:grants], c.Meets) {
			list = append(list, c)
		}
	}
	return Set{compile(widest(list))}
}

// WithDenials returns s with what t denies of it, too: what t hands on keeps the denials
// that t is under.
func (s Set) WithDenials(t Set) Set {
	if s.IsUnrestricted() || s.IsEmpty() || t.IsPlain() {
		return s
	}
	list := s.c.list[:len(s.c.list):len(s.c.list)]
	for _, i := range t.c.aside.denies {
		c := t.c.list[i]
		touched := slices.ContainsFunc(s.c.list, func(d Capability) bool { return !d.Denies() && c.Meets(d) })
		if touched && !slices.ContainsFunc(list, func(d Capability) bool { return d.Covers(c) }) {
			list = append(list, c)
		}
	}
	if len(list) == len(s.c.list) {
		return s
	}
	return Set{compile(list)}
}

// Meets reports whether c and d have anything in common by their two fields: a denial
// that does not meet a capability takes nothing from it.
func (c Capability) Meets(d Capability) bool {
	return (c.can.Covers(d.can) || d.can.Covers(c.can)) && (c.Resource().Covers(d.Resource()) || d.Resource().Covers(c.Resource()))
}

// widest returns list without what another of it covers; of equal ones the first
// stays.
func widest(list []Capability) []Capability {
	kept := make([]Capability, 0, len(list))
	for i, c := range list {
		covered := false
		for j := range list {
			if covered = i != j && list[j].Covers(c) && (j < i || !c.Covers(list[j])); covered {
				break
			}
		}
		if !covered {
			kept = append(kept, c)
		}
	}
	return kept
}

// maxIntersection is how many capabilities [Set.Intersect] may find in common in
// sets that are shorter.
const maxIntersection = 4096

// maxTerms is maxIntersection for sets of which one has terms: these are compared one
// by one.
const maxTerms = 1024

// crowded stands for an intersection that was too large: it holds nothing. It is
// compared by address.
var crowded = new(program)

// meet returns what two capabilities have in common.
func (c Capability) meet(d Capability) (Capability, bool) {
	both := c
	switch {
	case d.Resource().Covers(c.Resource()):
	case c.Resource().Covers(d.Resource()):
		both.with = d.with
	default:
		return both, false
	}
	if c.can.Covers(d.can) {
		both.can = d.can
	}
	if both.can != d.can && !d.can.Covers(c.can) {
		return both, false
	}
	if c.terms == nil && d.terms == nil {
		return both, true
	}
	var ok bool
	both.terms, ok = c.terms.meet(d.terms)
	return both, ok
}

// minimal returns c without the capabilities that another one covers; of equal
// ones the first stays.
func (c *program) minimal() *program {
	if c == nil {
		return nil
	}
	kept := make([]Capability, 0, len(c.list))
	for i, capability := range c.list {
		// The widest that covers it is found first, and of equal ones the first.
		if c.search(capability.can, capability.Resource().text) == verdict(i+1) {
			kept = append(kept, capability)
		}
	}
	if len(kept) == len(c.list) {
		return c
	}
	return compile(kept)
}
