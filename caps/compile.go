package caps

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// maskBits is the number of abilities that one tree of resources can tell apart.
const maskBits = 64

// compiled is a set made ready for checking. It is never changed.
//
// The distinct abilities get ids in the order of their text; id/64 is the tree of
// resources to look in, and id%64 the bit to look for. For a request the longest of
// the abilities that cover the one required is found, whose chain has the bits of all
// that do.
type compiled struct {
	list      []Capability
	aside     *aside             // what has terms; the rest holds the plain ones
	chains    []chain            // by id, so sorted
	ids       map[Ability]uint32 // of them
	resources []radix            // by id/64; the owner of a bit is an index of list
}

// chain is an ability of a set with those above it.
type chain struct {
	name  Ability
	mask  uint64  // the first of masks
	home  verdict // for what runs without a resource, at home
	masks []treeMask
}

// treeMask selects abilities of one tree of resources.
type treeMask struct {
	tree uint32
	mask uint64
}

// unrestricted stands for the set that allows everything. It is compared by
// address and holds nothing.
var unrestricted = new(compiled)

// compile takes over list, in which every capability has an ability.
func compile(list []Capability) *compiled {
	if len(list) == 0 {
		return nil
	}
	c := &compiled{list: list, aside: setAside(list), ids: make(map[Ability]uint32)}
	homes := make(map[Ability]verdict)
	for i, capability := range slices.Backward(list) {
		if !capability.IsPlain() {
			continue
		}
		if homes[capability.can] += 0; capability.Resource().DID() == "" {
			homes[capability.can] = verdict(i + 1)
		}
	}
	for id, name := range slices.Sorted(maps.Keys(homes)) {
		above := c.chain(name) // which has an id already: what begins a text stands before it
		masks := addMask(slices.Clone(above.masks), treeMask{uint32(id / maskBits), 1 << (id % maskBits)})
		c.chains = append(c.chains, chain{name, masks[0].mask, cmp.Or(above.home, homes[name]), masks})
		c.ids[name] = uint32(id)
	}
	leaves := make([][]leaf, (len(c.chains)+maskBits-1)/maskBits)
	for i, capability := range list {
		if !capability.IsPlain() {
			continue
		}
		id := c.ids[capability.can]
		leaves[id/maskBits] = append(leaves[id/maskBits], leaf{key: capability.Resource().text, bit: uint8(id % maskBits), owner: uint32(i)})
	}
	for _, keys := range leaves {
		c.resources = append(c.resources, newRadix(keys))
	}
	return c
}

// addMask adds a mask to those of the trees up to its own.
func addMask(masks []treeMask, m treeMask) []treeMask {
	if n := len(masks); n > 0 && masks[n-1].tree == m.tree {
		masks[n-1].mask |= m.mask
		return masks
	}
	return append(masks, m)
}

// fewAbilities is how many comparisons cost less than looking ids up.
const fewAbilities = 6

var noChain = new(chain)

// chain returns that of the longest ability of c that covers can. Those that do begin
// each other, so the last one in the order of text stands for all.
func (c *compiled) chain(can Ability) *chain {
	if len(c.chains) <= fewAbilities {
		for id := len(c.chains) - 1; id >= 0; id-- {
			if c.chains[id].name.Covers(can) {
				return &c.chains[id]
			}
		}
		return noChain
	}
	for name := can; name != ""; name = name[:max(0, strings.LastIndexByte(string(name), '/'))] {
		if id, ok := c.ids[name]; ok {
			return &c.chains[id]
		}
	}
	if id, ok := c.ids[anyAbility]; ok && can != "" {
		return &c.chains[id]
	}
	return noChain
}

// search finds a capability that covers can on the resource text.
func (c *compiled) search(can Ability, text string) verdict {
	for _, m := range c.chain(can).masks {
		if v := c.resources[m.tree].lookup(text, m.mask); v.allowed() {
			return v
		}
	}
	return 0
}
