package caps

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

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
	var meets []meet
	most := max(maxIntersection, s.Len()+t.Len())
	s.c.meet(t.c, func(i, j uint32) bool {
		meets = append(meets, meet{i, j, Capability{s.c.list[i].with, longer(s.c.list[i].can, t.c.list[j].can)}})
		return len(meets) <= most
	})
	t.c.meet(s.c, func(j, i uint32) bool {
		a, b := s.c.list[i], t.c.list[j]
		if a.Resource() != b.Resource() { // the equal ones were found above
			meets = append(meets, meet{i, j, Capability{b.with, longer(a.can, b.can)}})
		}
		return len(meets) <= most
	})
	if len(meets) > most {
		return Set{crowded}
	}
	slices.SortFunc(meets, func(a, b meet) int { return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j)) })
	list := make([]Capability, len(meets))
	for k, m := range meets {
		list[k] = m.both
	}
	return Set{compile(list).minimal()}
}

// maxIntersection is how many capabilities [Set.Intersect] may find in common in
// sets that are shorter.
const maxIntersection = 4096

// crowded stands for an intersection that was too large: it holds nothing. It is
// compared by address.
var crowded = new(compiled)

// meet is what capability i of one set and j of another have in common.
type meet struct {
	i, j uint32
	both Capability
}

// meet calls found for each capability i of c and enough of the capabilities j of
// d whose resource covers that of i and whose ability covers its ability, or lies
// below it. One that covers i in both parts is enough by itself, and so is one
// for each ability that lies below.
func (c *compiled) meet(d *compiled, found func(i, j uint32) (more bool)) {
	narrower := map[Ability][]treeMask{}
	for i, a := range c.list {
		text := a.Resource().text
		if v := d.decide(a.can, text, onResource); v.allowed() {
			if !found(uint32(i), uint32(v-1)) {
				return
			}
			continue
		}
		masks, ok := narrower[a.can]
		if !ok {
			masks = d.below(a.can)
			narrower[a.can] = masks
		}
		for _, m := range masks {
			t, left, more := &d.resources[m.tree], m.mask, true
			t.covering(text, m.mask, func(n *node, hit uint64) bool {
				for hit &= left; hit != 0 && more; hit &= hit - 1 {
					left &^= hit & -hit
					more = found(uint32(i), t.ownerOf(n, hit))
				}
				return left != 0 && more
			})
			if !more {
				return
			}
		}
	}
}

// below selects the abilities of c that lie below can. In the order of text they
// stand together.
func (c *compiled) below(can Ability) (masks []treeMask) {
	prefix := string(can + "/")
	if can == anyAbility {
		prefix = ""
	}
	from := sort.Search(len(c.chains), func(i int) bool { return string(c.chains[i].name) >= prefix })
	for id := from; id < len(c.chains) && strings.HasPrefix(string(c.chains[id].name), prefix); id++ {
		masks = addMask(masks, treeMask{uint32(id / maskBits), 1 << (id % maskBits)})
	}
	return masks
}

// longer returns the narrower of two abilities of which one covers the other.
func longer(a, b Ability) Ability {
	if a.Covers(b) {
		return b
	}
	return a
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
