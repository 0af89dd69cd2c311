package workspace

import (
	"context"
	"sync"
)

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
