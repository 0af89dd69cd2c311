package workspace

import (
	"context"
	"sync"
)

// positions remembers which key of a map stands at every 256th place, so that paging through a
// large one by offset does not walk from its start each time. What it says of a branch holds for
// one revision of the branch's count: whoever adds or removes an entry writes that, and nothing
// else moves a place.
type positions struct {
	mu       sync.Mutex
	branches map[branchID]*places
	size     int
}

type places struct {
	rev  uint64
	keys []string // of the places step, 2*step, ...
}

const (
	step         = 256
	maxPositions = 4 << 20 // bytes; beyond that all is forgotten and learned again
)

// before returns a place at or before offset and its key: "" for the first.
func (p *positions) before(id branchID, rev uint64, offset int) (place int, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.branches[id]
	if known == nil || known.rev != rev {
		return 0, ""
	}
	n := min(offset/step, len(known.keys))
	if n == 0 {
		return 0, ""
	}
	return n * step, known.keys[n-1]
}

// learn takes the key of a place that is a multiple of step.
func (p *positions) learn(id branchID, rev uint64, place int, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size += len(key) + 32; p.branches == nil || p.size > maxPositions {
		p.branches, p.size = make(map[branchID]*places), 0
	}
	known := p.branches[id]
	if known == nil || known.rev != rev {
		known = &places{rev: rev}
		p.branches[id] = known
	}
	if place == (len(known.keys)+1)*step {
		known.keys = append(known.keys, key)
	}
}

// seek returns where the entry at offset begins, and whether there is one.
func (v view) seek(ctx context.Context, n node, offset int) (from string, ok bool, err error) {
	if n.kind == vectorKind {
		return elementKey(n.id, offset), true, nil
	}
	if offset == 0 {
		return "", true, nil
	}
	count, rev, err := v.count(ctx, n.id)
	if err != nil || offset >= count {
		return "", false, err
	}
	place, from := v.t.positions.before(n.id, rev, offset)
	for place < offset {
		keys, next, err := v.pageKeys(ctx, entryPrefix(n.id), from, min(offset-place, step-place%step))
		if err != nil || next == "" {
			return "", false, err
		}
		from = next
		if place += len(keys); place%step == 0 {
			v.t.positions.learn(n.id, rev, place, from)
		}
	}
	return from, true, nil
}
