package workspace

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"usher/caps/value"
)

const (
	defaultLeafLimit = 4 << 10
	// maxValue is the largest JSON of one value that is written, in bytes.
	maxValue = 1_000_000
	// maxCallable is that of a value below o/, which is always written whole.
	maxCallable = 256 << 10

	// One batch of a store takes 1 MiB and 10,000 keys; these leave room for the entry that links
	// a value and what goes with it.
	batchBytes = 1<<20 - 8<<10
	batchKeys  = 9_900
)

var (
	errValueTooLarge    = fmt.Errorf("the value is too large for one write: at most %d bytes of JSON are possible: write its parts one by one, under paths of their own or with covia:append", maxValue)
	errCallableTooLarge = errors.New("a value below o/ may have at most 256 KiB of JSON")
)

// item is a value to write, and its plan where it may become an entry of its own.
type item struct {
	value any
	plan  *plan
}

// plan says how a value will be stored: as a leaf, or as a branch with the plans of its children.
type plan struct {
	segment  string // in a map
	node     node
	children []*plan
}

// prepare decides what of a normal value becomes a leaf and what a branch, so that it all fits into
// one batch. Containers of very many small parts become larger leaves for that: those alone, since
// what is added to a leaf later writes it whole; and only at last all of the value. What lies below
// o/ is always one leaf.
func (t *Tree) prepare(segs []string, v any) (item, error) {
	if segs[0] == "o" {
		p := &plan{node: leafOf(v)}
		if len(p.node) > maxCallable {
			return item{}, errCallableTooLarge
		}
		return item{v, p}, nil
	}
	for k := (packing{t.opts.LeafLimit, t.opts.LeafLimit}); ; k.leaf *= 16 {
		p, err := k.plan(v)
		if err != nil {
			return item{}, err
		}
		size, keys := p.extent()
		switch {
		case size <= batchBytes && keys <= batchKeys:
			return item{v, p}, nil
		case k.part > batchBytes:
			return item{}, errValueTooLarge
		case k.leaf > batchBytes:
			k.part = 1 << 20
		}
	}
}

// packing says which containers become leaves: up to a size in bytes, if no part is above another.
type packing struct{ leaf, part int }

func (k packing) plan(v any) (*plan, error) {
	p, kind, err := new(plan), byte(mapKind), error(nil)
	add := func(segment string, part any) {
		if err == nil {
			var c *plan
			c, err = k.plan(part)
			p.children = append(p.children, c)
			c.segment = segment
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			add(key, v[key])
		}
	case []any:
		kind = vectorKind
		for _, c := range v {
			add("", c)
		}
	default:
		p.node = leafOf(v)
		return p, nil
	}
	if leaf, ok := k.join(kind, p.children); ok {
		return &plan{node: leaf}, err
	}
	p.node = branchOf(kind, newID())
	for _, c := range p.children {
		if len(c.segment) > maxKey {
			err = fmt.Errorf("an object key has %d bytes: at most %d are possible", len(c.segment), maxKey)
		}
	}
	return p, err
}

// join writes the children of a branch as one leaf, if it may be one.
func (k packing) join(kind byte, children []*plan) (node, bool) {
	size := 2
	for _, c := range children {
		if c.node.isStored() || len(c.node) > k.part {
			return nil, false
		}
		if size += len(c.node) + len(c.segment) + 1; size > k.leaf {
			return nil, false
		}
	}
	brackets := "{}"
	if kind == vectorKind {
		brackets = "[]"
	}
	leaf := append(make(node, 0, size+2*len(children)), brackets[0])
	for i, c := range children {
		if i > 0 {
			leaf = append(leaf, ',')
		}
		if kind == mapKind {
			leaf = append(value.AppendString(leaf, c.segment), ':')
		}
		leaf = append(leaf, c.node...)
	}
	leaf = append(leaf, brackets[1])
	return leaf, len(leaf) <= k.leaf
}

// extent is the size of what emit puts, with the entry of the plan itself.
func (p *plan) extent() (size, keys int) {
	size, keys = prefixLen+len(p.node), 1
	if p.node.isStored() {
		size, keys = size+prefixLen+16, 2
	}
	for _, c := range p.children {
		s, k := c.extent()
		size, keys = size+s+max(len(c.segment), 8), keys+k
	}
	return size, keys
}

// emit puts the entries of the plan's branches, but not the entry that links the plan itself.
func (p *plan) emit(put map[string][]byte) {
	if !p.node.isStored() {
		return
	}
	id := p.node.id()
	put[countKey(id)] = encodeCount(len(p.children))
	for i, c := range p.children {
		key := elementKey(id, i)
		if !p.node.isVector() {
			key = entryKey(id, c.segment)
		}
		put[key] = c.node
		c.emit(put)
	}
}
