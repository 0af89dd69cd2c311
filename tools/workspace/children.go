package workspace

import (
	"context"
	"iter"
	"maps"
	"slices"
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

// children goes through the children of a container from offset on. Of a branch it reads pages, of
// which the first has so many.
func (v view) children(ctx context.Context, n node, offset, first int) iter.Seq2[child, error] {
	return func(yield func(child, error) bool) {
		if !n.isStored() {
			all, err := leafChildren(n)
			for _, c := range all[min(offset, len(all)):] {
				if !yield(c, nil) {
					return
				}
			}
			if err != nil {
				yield(child{}, err)
			}
			return
		}
		from, more, err := v.seek(ctx, n, offset)
		for limit := first; err == nil && more; limit = nextPages {
			var rows []Row
			rows, from, err = v.page(ctx, n.id(), from, limit)
			for _, r := range rows {
				var c child
				if !n.isVector() {
					c.key = r.Key[prefixLen:]
				}
				if c.node, err = decodeNode(r.Value); err != nil {
					break
				}
				if !yield(c, nil) {
					return
				}
			}
			more = from != ""
		}
		if err != nil {
			yield(child{}, err)
		}
	}
}

// keys returns the keys of a map from offset on, at most limit, without reading what is there.
func (v view) keys(ctx context.Context, n node, offset, limit int) ([]string, error) {
	keys := []string{}
	if !n.isStored() {
		all, err := leafChildren(n)
		for _, c := range all[min(offset, len(all)):min(offset+limit, len(all))] {
			keys = append(keys, c.key)
		}
		return keys, err
	}
	from, more, err := v.seek(ctx, n, offset)
	for err == nil && more && len(keys) < limit {
		var page []string
		page, from, err = v.pageKeys(ctx, n.id(), from, limit-len(keys))
		for _, k := range page {
			keys = append(keys, k[prefixLen:])
		}
		more = from != ""
	}
	return keys, err
}

// size is the number of children of a container.
func (v view) size(ctx context.Context, n node) (int, error) {
	if n.isStored() {
		count, _, err := v.count(ctx, n.id())
		return count, err
	}
	all, err := leafChildren(n)
	return len(all), err
}

func leafChildren(n node) (all []child, err error) {
	v, err := parse(n)
	for key, part := range partsOf(v) {
		all = append(all, child{key, leafOf(part)})
	}
	return all, err
}

// partsOf goes through a decoded map in the order of its keys, or through an array.
func partsOf(v any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if !yield(key, v[key]) {
					return
				}
			}
		case []any:
			for _, item := range v {
				if !yield("", item) {
					return
				}
			}
		}
	}
}
