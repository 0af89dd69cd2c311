package journal

import (
	"usher/venue/store"
	"usher/venue/store/group"
)

// pending is a batch that waits to be written. As nobody else writes than whoever writes its group,
// what is expected cannot move while it is checked.
type pending struct {
	group.Turn
	batch []store.Op
	moved string
}

// Apply has the batch written with those of others. It is on disk when it returns.
func (e engine) Apply(batch []store.Op) (moved string, err error) {
	p, ok := e.batches.Get().(*pending)
	if !ok {
		p = new(pending)
	}
	p.batch, p.moved = batch, ""
	err = e.queue.Join(p)
	moved, p.batch = p.moved, nil
	e.batches.Put(p)
	return moved, err
}

// Bounds of a group, which is one record: a batch alone may be larger.
const (
	maxGroupOps   = 2000
	maxGroupBytes = 512 << 10
)

// take says how many of the batches that wait are written next: up to one that touches what another
// of them writes.
func (w *writer) take(waiting []*pending) (n int) {
	if w.keys == nil {
		w.keys = make(map[string]bool)
	}
	clear(w.keys)
	ops, size := 0, 0
	for _, p := range waiting {
		met := false
		for _, op := range p.batch {
			met = met || w.keys[op.Key]
			size += len(op.Key) + len(op.Value)
		}
		if ops += len(p.batch); n > 0 && (met || ops > maxGroupOps || size > maxGroupBytes) {
			break
		}
		for _, op := range p.batch {
			if op.Kind != store.OpExpect {
				w.keys[op.Key] = true
			}
		}
		n++
	}
	return n
}
