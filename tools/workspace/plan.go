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

// plan says how a value will be stored: as a leaf, or as a branch with the plans of its children.
type plan struct {
	node     node
	children []part
}

type part struct {
	segment string // of a map
	plan    *plan
}

// plan decides what of a normal value becomes a leaf and what a branch, so that it all fits into
// one batch. Containers of very many small parts become larger leaves for that: those alone, since
// what is added to a leaf later writes it whole; and only at last all of the value.
func (t *Tree) plan(v any) (*plan, error) {
	for limit, part := t.leafLimit, t.leafLimit; ; limit *= 16 {
		p, err := packing{limit, part}.plan(v)
		if err != nil {
			return nil, err
		}
		size, keys := p.extent()
		switch {
		case size <= batchBytes && keys <= batchKeys:
			return p, nil
		case part > batchBytes:
			return nil, errValueTooLarge
		case limit > batchBytes:
			part = 1 << 20
		}
	}
}

// packing says which containers become leaves: up to a size in bytes, if no part is above another.
type packing struct{ leaf, part int }

func (k packing) plan(v any) (*plan, error) {
	var children []part
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p, err := k.plan(v[key])
			if err != nil {
				return nil, err
			}
			children = append(children, part{key, p})
		}
		return k.join(mapKind, children)
	case []any:
		for _, c := range v {
			p, err := k.plan(c)
			if err != nil {
				return nil, err
			}
			children = append(children, part{"", p})
		}
		return k.join(vectorKind, children)
	}
	return &plan{node: node{kind: leafKind, leaf: value.Append(nil, v)}}, nil
}

// join makes one leaf of the children if it may be one, else a branch.
func (k packing) join(as kind, children []part) (*plan, error) {
	if leaf, ok := k.joinLeaf(as, children); ok {
		return &plan{node: node{kind: leafKind, leaf: leaf}}, nil
	}
	for _, c := range children {
		if len(c.segment) > maxKey {
			return nil, fmt.Errorf("an object key has %d bytes: at most %d are possible", len(c.segment), maxKey)
		}
	}
	return &plan{node{kind: as, id: newID()}, children}, nil
}

func (k packing) joinLeaf(as kind, children []part) ([]byte, bool) {
	size := 2
	for _, c := range children {
		if c.plan.node.stored() || len(c.plan.node.leaf) > k.part {
			return nil, false
		}
		if size += len(c.plan.node.leaf) + len(c.segment) + 1; size > k.leaf {
			return nil, false
		}
	}
	open, end := byte('{'), byte('}')
	if as == vectorKind {
		open, end = '[', ']'
	}
	leaf := append(make([]byte, 0, size+2*len(children)), open)
	for i, c := range children {
		if i > 0 {
			leaf = append(leaf, ',')
		}
		if as == mapKind {
			leaf = append(value.AppendString(leaf, c.segment), ':')
		}
		leaf = append(leaf, c.plan.node.leaf...)
	}
	leaf = append(leaf, end)
	return leaf, len(leaf) <= k.leaf
}

// extent is the size of what emit puts, with the entry of the plan itself.
func (p *plan) extent() (size, keys int) {
	size, keys = prefixLen+1+len(p.node.leaf), 1
	if p.node.stored() {
		size, keys = 2*prefixLen+len(p.node.id)+16, 2
	}
	for _, c := range p.children {
		s, k := c.plan.extent()
		size, keys = size+s+max(len(c.segment), 8), keys+k
	}
	return size, keys
}

// emit puts the entries of the plan's branches, but not the entry that links the plan itself.
func (p *plan) emit(put map[string][]byte) {
	if !p.node.stored() {
		return
	}
	put[countKey(p.node.id)] = encodeCount(len(p.children))
	for i, c := range p.children {
		key := elementKey(p.node.id, i)
		if p.node.kind == mapKind {
			key = entryKey(p.node.id, c.segment)
		}
		put[key] = c.plan.node.encode()
		c.plan.emit(put)
	}
}
