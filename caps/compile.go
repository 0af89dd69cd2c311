package caps

import (
	"cmp"
	"slices"
	"strings"
)

// program is a set made ready for checking. It is never changed.
type program struct {
	list    []Capability
	aside   *aside            // what has terms; the rest holds the plain ones
	on      map[string]grants // by the text of the resource
	lengths []int             // of these texts, the shortest first
	home    grants            // for what runs without a resource, at home
}

// grants are abilities at one place, in the order of their text, each once.
type grants []grant

// grant is an ability, and the first capability that grants it there.
type grant struct {
	can Ability
	at  int // in the list of the set
}

// unrestricted stands for the set that allows everything. It is compared by
// address and holds nothing.
var unrestricted = new(program)

// compile takes over list, in which every capability has an ability.
func compile(list []Capability) *program {
	if len(list) == 0 {
		return nil
	}
	c := &program{list: list, aside: setAside(list), on: make(map[string]grants, len(list))}
	for i, capability := range list {
		if !capability.IsPlain() {
			continue
		}
		on, given := capability.Resource(), grant{capability.can, i}
		c.on[on.text] = append(c.on[on.text], given)
		if on.DID() == "" {
			c.home = append(c.home, given)
		}
	}
	c.home = c.home.sort()
	for text, list := range c.on {
		c.on[text] = list.sort()
		if at, known := slices.BinarySearch(c.lengths, len(text)); !known {
			c.lengths = slices.Insert(c.lengths, at, len(text))
		}
	}
	return c
}

// sort takes over g, and keeps the first of equal abilities.
func (g grants) sort() grants {
	slices.SortStableFunc(g, func(a, b grant) int { return cmp.Compare(a.can, b.can) })
	return slices.CompactFunc(g, func(a, b grant) bool { return a.can == b.can })
}

// fewAbilities is how many comparisons cost less than a search.
const fewAbilities = 6

// search returns the widest ability that covers can. It and those below it that do
// begin each other, so it is the first of them.
func (g grants) search(can Ability) verdict {
	if len(g) <= fewAbilities {
		for _, given := range g {
			if given.can.Covers(can) {
				return verdict(given.at + 1)
			}
		}
		return 0
	}
	if g[0].can == anyAbility && can != "" {
		return verdict(g[0].at + 1)
	}
	for end := range len(can) + 1 {
		if !endsSegment(string(can), end) {
			continue
		}
		if i, ok := slices.BinarySearchFunc(g, can[:end], func(given grant, name Ability) int { return cmp.Compare(given.can, name) }); ok {
			return verdict(g[i].at + 1)
		}
	}
	return 0
}

// search finds a capability that covers can on the resource text: that of the
// shortest resource. The root covers every text but those that name a principal.
//
// This is the path of every decision, and does not allocate.
func (c *program) search(can Ability, text string) verdict {
	for _, n := range c.lengths {
		switch {
		case n > len(text):
			return 0
		case n > 0 && !endsSegment(text, n), n == 0 && strings.HasPrefix(text, didPrefix):
			continue
		}
		if v := c.on[text[:n]].search(can); v != 0 {
			return v
		}
	}
	return 0
}

// endsSegment reports whether a segment of text ends at byte at.
func endsSegment(text string, at int) bool {
	return at == len(text) || at < len(text) && text[at] == '/'
}
