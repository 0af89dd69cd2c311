package workspace

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
)

// Part is a part of a tree: a value that is stored in one piece, or a collection whose parts follow,
// as {} or [].
type Part struct {
	Path  []string // of keys, and in arrays of positions
	Value json.RawMessage
}

// Walk goes through all that an owner has in a namespace, w or o, as it is at one moment: each
// collection before its parts, a page of it in memory at a time. The path is the walker's.
func (t *Tree) Walk(ctx context.Context, owner, namespace string) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		v, err := t.look(ctx)
		if err != nil {
			yield(Part{}, err)
			return
		}
		defer v.close()
		v.walk(ctx, branchOf(mapKind, rootID(owner, namespace)), []string{namespace}, yield)
	}
}

func (v view) walk(ctx context.Context, n node, path []string, yield func(Part, error) bool) bool {
	index := 0
	for c, err := range v.children(ctx, n, 0, firstPage) {
		if err != nil {
			yield(Part{}, err)
			return false
		}
		key := c.key
		if n.isVector() {
			key = strconv.Itoa(index)
		}
		index++
		below := append(slices.Clip(path), key)
		if !c.node.isStored() {
			if !yield(Part{below, json.RawMessage(c.node)}, nil) {
				return false
			}
			continue
		}
		empty := `{}`
		if c.node.isVector() {
			empty = `[]`
		}
		if !yield(Part{below, json.RawMessage(empty)}, nil) || !v.walk(ctx, c.node, below, yield) {
			return false
		}
	}
	return true
}
