package workspace

import (
	"context"
	"iter"
	"maps"
	"slices"

	"usher/caps/value"
)

// child is one child of a container: its key, or "" in an array, and what is there.
type child struct {
	key  string
	node node
}

// A walk through a branch begins with a small page where its reader may soon have enough.
const (
	firstPage = 16
	nextPages = 256
)

// entries goes through the children of a branch, from the entry with the key from on. Its first
// page has so many.
func (v view) entries(ctx context.Context, n node, from string, first int) iter.Seq2[child, error] {
	return func(yield func(child, error) bool) {
		for limit, next := first, from; ; limit = nextPages {
			var rows []Row
			var err error
			if rows, next, err = v.page(ctx, entryPrefix(n.id), next, limit); err != nil {
				yield(child{}, err)
				return
			}
			for _, r := range rows {
				var c child
				if n.kind == mapKind {
					c.key = r.Key[prefixLen:]
				}
				c.node, err = decodeNode(r.Value)
				if !yield(c, err) || err != nil {
					return
				}
			}
			if next == "" {
				return
			}
		}
	}
}

// children goes through the children of a container, stored in either way, from offset on.
func (v view) children(ctx context.Context, n node, offset, first int) iter.Seq2[child, error] {
	return func(yield func(child, error) bool) {
		if !n.stored() {
			all, err := leafChildren(n)
			if err != nil {
				yield(child{}, err)
				return
			}
			for _, c := range all[min(offset, len(all)):] {
				if !yield(c, nil) {
					return
				}
			}
			return
		}
		from, ok, err := v.seek(ctx, n, offset)
		if err != nil {
			yield(child{}, err)
			return
		}
		if ok {
			v.entries(ctx, n, from, first)(yield)
		}
	}
}

// keys returns the keys of a map from offset on, at most limit, without reading what is there.
func (v view) keys(ctx context.Context, n node, offset, limit int) ([]string, error) {
	keys := []string{}
	if !n.stored() {
		all, err := leafChildren(n)
		for _, c := range all[min(offset, len(all)):min(offset+limit, len(all))] {
			keys = append(keys, c.key)
		}
		return keys, err
	}
	from, ok, err := v.seek(ctx, n, offset)
	for err == nil && ok && len(keys) < limit {
		var page []string
		page, from, err = v.pageKeys(ctx, entryPrefix(n.id), from, limit-len(keys))
		for _, k := range page {
			keys = append(keys, k[prefixLen:])
		}
		ok = from != ""
	}
	return keys, err
}

// size is the number of children of a container.
func (v view) size(ctx context.Context, n node) (int, error) {
	if n.stored() {
		count, _, err := v.count(ctx, n.id)
		return count, err
	}
	all, err := leafChildren(n)
	return len(all), err
}

func leafChildren(n node) ([]child, error) {
	v, err := parse(n.leaf)
	if err != nil {
		return nil, err
	}
	var all []child
	add := func(key string, v any) {
		all = append(all, child{key, node{kind: leafKind, leaf: value.Append(nil, v)}})
	}
	switch c := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(c)) {
			add(k, c[k])
		}
	case []any:
		for _, e := range c {
			add("", e)
		}
	}
	return all, nil
}
