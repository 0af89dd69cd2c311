package caps

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
)

// entry is a bit under a key, and what stands behind it.
type entry struct {
	key   string
	bit   uint8
	owner uint32
}

// builder makes a radix. It takes time near linear in the bytes of the keys.
type builder struct {
	tree   radix
	heads  []byte
	labels strings.Builder
	keys   []keyed
}

// keyed is a key with its mask; owner is where in the tree's owners its lowest
// bit stands.
type keyed struct {
	text  string
	mask  uint64
	owner uint32
}

// newRadix builds the tree of entries, which it sorts. Of two entries with the
// same key and bit, that of the lower owner stands.
func newRadix(entries []entry) radix {
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.bit, b.bit), cmp.Compare(a.owner, b.owner))
	})
	b := &builder{keys: make([]keyed, 0, len(entries))}
	for i, e := range entries {
		if i == 0 || e.key != entries[i-1].key {
			b.keys = append(b.keys, keyed{text: e.key, owner: uint32(len(b.tree.owners))})
		}
		k := &b.keys[len(b.keys)-1]
		if k.mask&(1<<e.bit) == 0 {
			k.mask |= 1 << e.bit
			b.tree.owners = append(b.tree.owners, e.owner)
		}
	}
	b.grow(1)
	b.fill(0, 0, 0, b.keys)
	b.tree.heads, b.tree.labels = string(b.heads), b.labels.String()
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
	n := node{label: uint32(b.labels.Len())}
	if len(keys) > 0 && end > from {
		end += commonPrefix(keys[0].text[end:], keys[len(keys)-1].text[end:])
		if b.labels.Len()+end-from > math.MaxUint32 {
			panic("caps: a set of more than 4 GiB of text")
		}
		b.labels.WriteString(keys[0].text[from:end])
		b.heads[at], n.size = keys[0].text[from], uint16(end-from)
	}
	if len(keys) > 0 && len(keys[0].text) == end {
		n.mask, n.owner, keys = keys[0].mask, keys[0].owner, keys[1:]
	}
	n.sub = n.mask
	groups := groupByByte(keys, end)
	n.kids = uint16(len(groups))
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

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
