package journal

import (
	"fmt"
	"sync"

	"usher/venue/store"
)

// queue has batches written one group after another: those that come while a group is written are
// the next one, which is one record. Whoever is the first of a group writes it for all. As nobody
// else writes, what is expected cannot move while it is checked.
type queue struct {
	mu      sync.Mutex
	waiting []*pending
	leading bool // somebody writes

	// Of whoever leads:
	group []*pending
	keys  map[string]bool // that the group writes
	spare sync.Pool       // of *pending
}

// pending is a batch that waits to be written.
type pending struct {
	batch []store.Op
	turn  chan bool // true: lead; false: done
	moved string
	err   error
}

// Bounds of a group: a batch alone may be larger.
const (
	maxGroupOps   = 2000
	maxGroupBytes = 512 << 10
)

// apply has the batch written with those of others, by write.
func (q *queue) apply(batch []store.Op, write func([]*pending)) (moved string, err error) {
	p, ok := q.spare.Get().(*pending)
	if !ok {
		p = &pending{turn: make(chan bool, 1)}
	}
	p.batch, p.moved, p.err = batch, "", nil
	defer func() {
		p.batch = nil
		q.spare.Put(p)
	}()

	q.mu.Lock()
	q.waiting = append(q.waiting, p)
	if q.leading {
		q.mu.Unlock()
		if lead := <-p.turn; !lead {
			return p.moved, p.err
		}
		q.mu.Lock()
	}
	q.leading = true
	group := q.take()
	q.mu.Unlock()
	safely(group, write)
	for _, other := range group {
		if other != p {
			other.turn <- false
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.leading = len(q.waiting) > 0; q.leading {
		q.waiting[0].turn <- true
	}
	return p.moved, p.err
}

// safely writes a group. Whoever waits would wait for ever if it did not come back.
func safely(group []*pending, write func([]*pending)) {
	defer func() {
		if v := recover(); v != nil {
			for _, p := range group {
				p.err = fmt.Errorf("%w: the store failed inside: %v", store.ErrUnknown, v)
			}
		}
	}()
	write(group)
}

// take takes the batches that are written next, in their order: up to one that
// touches what another of them writes.
func (q *queue) take() []*pending {
	if q.keys == nil {
		q.keys = make(map[string]bool)
	}
	clear(q.keys)
	n, ops, size := 0, 0, 0
	for _, p := range q.waiting {
		met := false
		for _, op := range p.batch {
			met = met || q.keys[op.Key]
			size += len(op.Key) + len(op.Value)
		}
		if ops += len(p.batch); n > 0 && (met || ops > maxGroupOps || size > maxGroupBytes) {
			break
		}
		for _, op := range p.batch {
			if op.Kind != store.OpExpect {
				q.keys[op.Key] = true
			}
		}
		n++
	}
	q.group = append(q.group[:0], q.waiting[:n]...)
	q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	return q.group
}
