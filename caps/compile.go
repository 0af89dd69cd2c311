package caps

import (
	"slices"
	"strings"
)

// maskBits is the number of abilities that one tree of resources can tell apart.
const maskBits = 64

// compiled is a set made ready for checking. It is never changed.
//
// The distinct abilities get ids in the order of their text. For a request, a
// walk over abilities yields the ids that cover the one required, which are one
// more than its segments at most; id/64 is the tree of resources to look in, and
// id%64 the bit to look for.
type compiled struct {
	list      []Capability
	names     []Ability // by id, sorted
	chains    []uint64  // by id: the bits of the abilities that cover it, where there are few
	holders   []verdict // by id: the first capability of that ability at home
	abilities radix     // one bit; the owner of a key is its id
	resources []radix   // by id/64; the owner of a bit is an index of list
}

// unrestricted stands for the set that allows everything. It is compared by
// address and holds nothing.
var unrestricted = new(compiled)

// compile takes over list, in which every capability has an ability.
func compile(list []Capability) *compiled {
	if len(list) == 0 {
		return nil
	}
	c := &compiled{list: list}
	ids := map[Ability]uint32{}
	for _, capability := range list {
		if _, ok := ids[capability.can]; !ok {
			ids[capability.can] = 0
			c.names = append(c.names, capability.can)
		}
	}
	slices.Sort(c.names)
	names := make([]leaf, len(c.names))
	for id, name := range c.names {
		ids[name] = uint32(id)
		names[id] = leaf{key: strings.TrimPrefix(string(name), string(anyAbility)), owner: uint32(id)}
	}
	c.abilities = newRadix(names)
	if len(c.names) <= fewAbilities {
		c.chains = make([]uint64, len(c.names))
		for id, name := range c.names {
			for over := range id + 1 {
				if c.names[over].Covers(name) {
					c.chains[id] |= 1 << over
				}
			}
		}
	}

	c.holders = make([]verdict, len(c.names))
	chunks := make([][]leaf, (len(c.names)+maskBits-1)/maskBits)
	for i := len(list) - 1; i >= 0; i-- {
		id := ids[list[i].can]
		if list[i].Resource().DID() == "" {
			c.holders[id] = verdict(i + 1)
		}
		chunk := &chunks[id/maskBits]
		*chunk = append(*chunk, leaf{key: list[i].Resource().text, bit: uint8(id % maskBits), owner: uint32(i)})
	}
	c.resources = make([]radix, len(chunks))
	for i, leaves := range chunks {
		c.resources[i] = newRadix(leaves)
	}
	return c
}

// coverIDs holds the ids of the abilities that cover one: "*" and one for each
// segment.
type coverIDs struct {
	id [maxAbilitySegments + 1]uint32
	n  int
}

// covering returns the ids of the abilities of c that cover can, ascending.
func (c *compiled) covering(can Ability) (ids coverIDs) {
	t := &c.abilities
	t.covering(string(can), 1, func(n *node, _ uint64) bool {
		ids.id[ids.n] = t.leaves[n.leaf].owner
		ids.n++
		return true
	})
	return ids
}

// next takes the ids of one tree off the front, as that tree's index and mask.
func (ids *coverIDs) next(from int) (tree uint32, need uint64, to int) {
	tree = ids.id[from] / maskBits
	for to = from; to < ids.n && ids.id[to]/maskBits == tree; to++ {
		need |= 1 << (ids.id[to] % maskBits)
	}
	return tree, need, to
}

// search finds a capability that covers can on the resource text.
func (c *compiled) search(can Ability, text string) verdict {
	ids := c.covering(can)
	for i := 0; i < ids.n; {
		tree, need, next := ids.next(i)
		if v := c.resources[tree].lookup(text, need); v.allowed() {
			return v
		}
		i = next
	}
	return 0
}

// fewAbilities is how many comparisons cost less than a walk.
const fewAbilities = 6

// compare returns the mask of the abilities that cover can, of a set that has
// few. Those that do begin each other, so the last one in the order of text
// stands for all.
func (c *compiled) compare(can Ability) (need uint64) {
	for id := len(c.names) - 1; id >= 0; id-- {
		if c.names[id].Covers(can) {
			return c.chains[id]
		}
	}
	return 0
}
