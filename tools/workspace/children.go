package workspace

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
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
		if !n.stored() {
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
	if !n.stored() {
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
	if n.stored() {
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

// positions remembers which key of a map stands at every 256th place, so that paging through a
// large one by offset does not walk from its start each time.
type positions struct {
	mu   sync.Mutex
	keys map[place]string
	size int
}

// place is one in a branch as it is at a revision of its count: whoever adds or removes an entry
// writes that, and nothing else moves a place.
type place struct {
	branch branchID
	rev    uint64
	at     int
}

const (
	step         = 256
	maxPositions = 4 << 20 // bytes; beyond that all is forgotten and learned again
)

// before returns a place at or before p and its key: "" for the first.
func (known *positions) before(p place) (int, string) {
	known.mu.Lock()
	defer known.mu.Unlock()
	for p.at -= p.at % step; p.at > 0; p.at -= step {
		if key, ok := known.keys[p]; ok {
			return p.at, key
		}
	}
	return 0, ""
}

func (known *positions) learn(p place, key string) {
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.size += len(key) + 64; known.keys == nil || known.size > maxPositions {
		known.keys, known.size = make(map[place]string), 0
	}
	known.keys[p] = key
}

// seek returns where the entry at offset begins, and whether there is one.
func (v view) seek(ctx context.Context, n node, offset int) (from string, ok bool, err error) {
	if n.isVector() {
		return elementKey(n.id(), offset), true, nil
	}
	if offset == 0 {
		return "", true, nil
	}
	count, rev, err := v.count(ctx, n.id())
	if err != nil || offset >= count {
		return "", false, err
	}
	at, from := v.t.positions.before(place{n.id(), rev, offset})
	for at < offset {
		keys, next, err := v.pageKeys(ctx, n.id(), from, min(offset-at, step-at%step))
		if err != nil || next == "" {
			return "", false, err
		}
		from = next
		if at += len(keys); at%step == 0 {
			v.t.positions.learn(place{n.id(), rev, at}, from)
		}
	}
	return from, true, nil
}
