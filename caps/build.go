package caps

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
)

// builder makes a radix. It takes time near linear in the bytes of the keys.
type builder struct {
	tree  radix
	heads []byte
	keys  []keyed
}

// keyed is a key with its mask; leaf is that of its lowest bit.
type keyed struct {
	text string
	mask uint64
	leaf uint32
}

// newRadix builds the tree of leaves, which it takes over. Of two with the same
// key and bit, that of the lower owner stands.
func newRadix(leaves []leaf) radix {
	slices.SortFunc(leaves, func(a, b leaf) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.bit, b.bit), cmp.Compare(a.owner, b.owner))
	})
	leaves = slices.CompactFunc(leaves, func(a, b leaf) bool { return a.key == b.key && a.bit == b.bit })
	b := &builder{tree: radix{leaves: leaves}}
	for i, e := range leaves {
		if i == 0 || e.key != leaves[i-1].key {
			b.keys = append(b.keys, keyed{text: e.key, leaf: uint32(i)})
		}
		b.keys[len(b.keys)-1].mask |= 1 << e.bit
	}
	b.grow(1)
	b.fill(0, 0, 0, b.keys)
	b.tree.heads = string(b.heads)
	b.tree.nodes = slices.Clip(b.tree.nodes)
	return b.tree
}

// grow adds n neighbouring nodes and returns the index of the first.
func (b *builder) grow(n int) int {
	at := len(b.tree.nodes)
	if uint64(at)+uint64(n) > math.MaxUint32 {
		panic("caps: a set of more than 4 billion nodes")
	}
	b.tree.nodes = append(b.tree.nodes, make([]node, n)...)
	b.heads = append(b.heads, make([]byte, n)...)
	return at
}

// fill writes node at, whose label begins at byte from of every key in keys, and
// ends at byte end or where the keys part, whichever comes later.
func (b *builder) fill(at, from, end int, keys []keyed) {
	n := node{}
	if len(keys) > 0 {
		n.leaf = keys[0].leaf
	}
	if end > from {
		end += commonPrefix(keys[0].text[end:], keys[len(keys)-1].text[end:])
		b.heads[at], n.size = keys[0].text[from], uint16(end-from)
	}
	if len(keys) > 0 && len(keys[0].text) == end {
		n.mask, keys = keys[0].mask, keys[1:]
	}
	n.sub = n.mask
	groups := groupByByte(keys, end)
	n.kids, n.low = uint8(len(groups)), low(groups, end)
	n.first = uint32(b.grow(len(groups)))
	for i, group := range groups {
		child := int(n.first) + i
		b.fill(child, end, end+1, group)
		n.sub |= b.tree.nodes[child].sub
	}
	b.tree.nodes[at] = n
}

// groupByByte splits sorted keys, all longer than at, where their byte at
// changes.
func groupByByte(keys []keyed, at int) [][]keyed {
	var groups [][]keyed
	for len(keys) > 0 {
		head := keys[0].text[at]
		n := sort.Search(len(keys), func(i int) bool { return keys[i].text[at] > head })
		groups, keys = append(groups, keys[:n]), keys[n:]
	}
	return groups
}

// low returns the byte at of the first group where those of the others follow
// it without a gap, as digits often do, and that of a single one; otherwise 0.
func low(groups [][]keyed, at int) byte {
	if len(groups) == 0 {
		return 0
	}
	first, last := groups[0][0].text[at], groups[len(groups)-1][0].text[at]
	if int(last-first) != len(groups)-1 {
		return 0
	}
	return first
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
