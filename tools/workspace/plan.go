package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

const (
	defaultLeafLimit = 4 << 10
	// chunkLimit is the longest scalar that is one entry, and the length of the pieces of longer
	// ones. Several fit into one step of the store.
	chunkLimit = 256 << 10
)

// plan says how a value will be stored: as a leaf, or as a branch with the plans of its children.
type plan struct {
	node     node
	children []child // of a map or vector branch
	chunks   []byte  // of a chunked scalar: its JSON
	built    *built  // the branch is there already, or waits in built
}

type child struct {
	segment string // of a map
	plan    *plan
}

// planner decides what becomes a leaf and what a branch.
type planner struct{ leafLimit int }

// plan plans a normal value, in which a [*built] may stand for a part that was built before.
func (pl planner) plan(v any) (*plan, error) {
	switch v := v.(type) {
	case *built:
		if v.node.stored() {
			return &plan{node: v.node, built: v}, nil
		}
		return &plan{node: v.node}, nil
	case map[string]any:
		children := make([]child, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			p, err := pl.plan(v[k])
			if err != nil {
				return nil, err
			}
			children = append(children, child{k, p})
		}
		return pl.join(mapKind, children)
	case []any:
		children := make([]child, 0, len(v))
		for _, c := range v {
			p, err := pl.plan(c)
			if err != nil {
				return nil, err
			}
			children = append(children, child{"", p})
		}
		return pl.join(vectorKind, children)
	case nil, bool, string, json.Number:
		text := appendJSON(nil, v)
		if len(text) > chunkLimit {
			return &plan{node: node{kind: chunkKind, id: newID(), first: text[0]}, chunks: text}, nil
		}
		return &plan{node: node{kind: leafKind, leaf: text}}, nil
	default:
		return nil, fmt.Errorf("plan value: %T is not JSON", v)
	}
}

// join makes one leaf of the children if it is small enough, else a branch.
func (pl planner) join(k kind, children []child) (*plan, error) {
	if leaf, ok := pl.joinLeaf(k, children); ok {
		return &plan{node: node{kind: leafKind, leaf: leaf}}, nil
	}
	for _, c := range children {
		if len(c.segment) > maxKey {
			return nil, fmt.Errorf("an object key has %d bytes: at most %d are possible", len(c.segment), maxKey)
		}
	}
	return &plan{node: node{kind: k, id: newID()}, children: children}, nil
}

func (pl planner) joinLeaf(k kind, children []child) ([]byte, bool) {
	size := 2
	for _, c := range children {
		if c.plan.node.stored() {
			return nil, false
		}
		if size += len(c.plan.node.leaf) + len(c.segment) + 1; size > pl.leafLimit {
			return nil, false
		}
	}
	open, end := byte('{'), byte('}')
	if k == vectorKind {
		open, end = '[', ']'
	}
	leaf := append(make([]byte, 0, size+2*len(children)), open)
	for i, c := range children {
		if i > 0 {
			leaf = append(leaf, ',')
		}
		if k == mapKind {
			leaf = append(appendString(leaf, c.segment), ':')
		}
		leaf = append(leaf, c.plan.node.leaf...)
	}
	leaf = append(leaf, end)
	return leaf, len(leaf) <= pl.leafLimit
}

// emit puts the entries of the plan's branches, but not the entry that links the plan itself. A
// branch's own entries come before those of the branches below it: whatever is put is reachable
// from what was put before.
func (p *plan) emit(put func(key string, value []byte) error) error {
	if p.built != nil || !p.node.stored() {
		return nil
	}
	for i := 0; i*chunkLimit < len(p.chunks); i++ {
		// A piece is tagged as a leaf: nothing that somebody wrote can pass for a link.
		piece := node{kind: leafKind, leaf: p.chunks[i*chunkLimit : min(len(p.chunks), (i+1)*chunkLimit)]}
		if err := put(elementKey(p.node.id, uint64(i)), piece.encode()); err != nil {
			return err
		}
	}
	if p.chunks != nil {
		return nil
	}
	if err := put(countKey(p.node.id), encodeCount(uint64(len(p.children)))); err != nil {
		return err
	}
	for i, c := range p.children {
		key := elementKey(p.node.id, uint64(i))
		if p.node.kind == mapKind {
			key = entryKey(p.node.id, c.segment)
		}
		if err := put(key, c.plan.node.encode()); err != nil {
			return err
		}
	}
	for _, c := range p.children {
		if err := c.plan.emit(put); err != nil {
			return err
		}
	}
	return nil
}

// parts calls fn for each part of the plan that was built before.
func (p *plan) parts(fn func(*built)) {
	if p.built != nil {
		fn(p.built)
	}
	for _, c := range p.children {
		c.plan.parts(fn)
	}
}
