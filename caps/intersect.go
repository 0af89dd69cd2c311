package caps

// Intersect returns the set that allows, on resources, exactly what both s and t
// allow. An unrestricted set changes nothing, and where one of them covers the
// other, the other is returned as it is. Otherwise it is of each pair the longer
// resource with the longer ability, where one covers the other in both parts;
// capabilities that another one covers are left out, and the order follows s,
// then t.
//
// A request without a resource may be allowed by both and not by the
// intersection: s and t may hold the ability in places that do not meet.
//
// Two sets can have as much in common as the product of their lengths. What is
// more than 4096 and more than the sum of their lengths holds nothing, and its
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
			if within[j].allowed() && within[j] != verdict(i+1) {
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

// maxIntersection is how many capabilities [Set.Intersect] may find in common in
// sets that are shorter.
const maxIntersection = 4096

// crowded stands for an intersection that was too large: it holds nothing. It is
// compared by address.
var crowded = new(compiled)

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
	return both, both.can == d.can || d.can.Covers(c.can)
}

// minimal returns c without the capabilities that another one covers; of equal
// ones the first stays.
func (c *compiled) minimal() *compiled {
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
