package badger

import (
	"errors"
	"fmt"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"usher/venue/store"
)

// writer writes batches one group after another: those that come while a group
// is written are the next one, which is one transaction of Badger's. Whoever is
// the first of a group writes it for all. As nobody else writes, each version is
// that of one group, and what is expected cannot move while it is checked.
type writer struct {
	mu      sync.Mutex
	queue   []*pending
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

// Apply has the batch written with those of others.
func (e *engine) Apply(batch []store.Op) (moved string, err error) {
	w := &e.writer
	p, ok := w.spare.Get().(*pending)
	if !ok {
		p = &pending{turn: make(chan bool, 1)}
	}
	p.batch, p.moved, p.err = batch, "", nil
	defer func() {
		p.batch = nil
		w.spare.Put(p)
	}()

	w.mu.Lock()
	w.queue = append(w.queue, p)
	if w.leading {
		w.mu.Unlock()
		if lead := <-p.turn; !lead {
			return p.moved, p.err
		}
		w.mu.Lock()
	}
	w.leading = true
	group := w.take()
	w.mu.Unlock()
	e.write(group)
	for _, other := range group {
		if other != p {
			other.turn <- false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leading = len(w.queue) > 0; w.leading {
		w.queue[0].turn <- true
	}
	return p.moved, p.err
}

// take takes the batches that are written next, in their order: up to one that
// touches what another of them writes.
func (w *writer) take() []*pending {
	if w.keys == nil {
		w.keys = make(map[string]bool)
	}
	clear(w.keys)
	n, ops, size := 0, 0, 0
	for _, p := range w.queue {
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
	w.group = append(w.group[:0], w.queue[:n]...)
	w.queue = append(w.queue[:0], w.queue[n:]...)
	return w.group
}

// write writes a group; where it cannot be written as one, each batch by itself.
func (e *engine) write(group []*pending) {
	defer func() {
		if v := recover(); v != nil { // whoever waits would wait for ever
			for _, p := range group {
				p.err = fmt.Errorf("%w: the store failed inside: %v", store.ErrUnknown, v)
			}
		}
	}()
	ts := e.reads.last() + 1
	txn := e.db.NewTransactionAt(ts-1, true)
	defer txn.Discard()
	writes := false
	for _, p := range group {
		if p.moved, p.err = stage(txn, p.batch); p.err != nil {
			if len(group) > 1 {
				for i := range group {
					e.write(group[i : i+1])
				}
			}
			return
		}
		writes = writes || p.moved == ""
	}
	if !writes {
		return
	}
	err := txn.CommitAt(ts, nil)
	e.db.SetDiscardTs(e.reads.advance(ts))
	if err == nil {
		return
	}
	for _, p := range group {
		if p.moved == "" {
			p.err = fmt.Errorf("%w: %w", store.ErrUnknown, err)
		}
	}
}

// stage checks what a batch expects, and then adds its writes to the transaction.
func stage(txn *badger.Txn, batch []store.Op) (moved string, err error) {
	for _, op := range batch {
		if op.Kind != store.OpExpect {
			continue
		}
		rev, err := revision(txn, op.Key)
		if err != nil {
			return "", fmt.Errorf("key %q: %w", op.Key, err)
		}
		if rev != op.Rev {
			return op.Key, nil
		}
	}
	for _, op := range batch {
		switch op.Kind {
		case store.OpPut:
			err = txn.Set([]byte(op.Key), op.Value)
		case store.OpDelete:
			err = txn.Delete([]byte(op.Key))
		}
		if err != nil {
			return "", fmt.Errorf("key %q: %w", op.Key, err)
		}
	}
	return "", nil
}

func revision(txn *badger.Txn, key string) (uint64, error) {
	item, err := txn.Get([]byte(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return item.Version(), nil
}

// reads knows the version that is written last, and the versions that are read:
// what only older ones hold may be thrown away.
type reads struct {
	mu      sync.Mutex
	written uint64
	open    map[uint64]int // readers by version
}

func (r *reads) last() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}

// begin returns the version that a reader sees until it calls end.
func (r *reads) begin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[r.written]++
	return r.written
}

func (r *reads) end(version uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[version]--; r.open[version] == 0 {
		delete(r.open, version)
	}
}

// advance notes that a version is written, and returns the oldest that is needed.
func (r *reads) advance(version uint64) (oldest uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written, oldest = version, version
	for v := range r.open {
		oldest = min(oldest, v)
	}
	return oldest
}
