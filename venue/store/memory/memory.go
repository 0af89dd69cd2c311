// Package memory is the engine of a store that is gone with its process: an ordered map, without
// goroutines and without a disk. Call [Open].
package memory

import (
	"bytes"
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"usher/venue/store"
)

// Open returns an empty store in memory.
func Open() *store.Store { return store.New(New()) }

// New returns the engine of such a store, for whoever puts something before it.
func New() store.Engine { return &engine{} }

// engine keeps the rows in a tree. A snapshot that was opened after the last
// write reads the tree itself, and gets a copy of its own, on write, only when
// the next write finds it open.
type engine struct {
	mu   sync.RWMutex
	rows rows
	rev  uint64    // of the last batch
	last *snapshot // of the rows as they are; nil where none is open
}

var _ store.Engine = (*engine)(nil)

// rows is the ordered map. Values in it are never written to.
type rows struct{ btree.Map[string, entry] }

type entry struct {
	value []byte
	rev   uint64
}

func (e *engine) Get(key string) ([]byte, uint64, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.rows.get(key)
}

func (e *engine) Page(w store.Walk) ([]store.Row, string, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.rows.page(w)
}

func (e *engine) Apply(batch []store.Op) (moved string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var fresh places // of puts that expect no row to be there
	for _, op := range batch {
		if op.Kind != store.OpExpect || op.Rev == 0 && fresh.add(batch, op.Key) {
			continue
		}
		if row, _ := e.rows.Get(op.Key); row.rev != op.Rev {
			return op.Key, nil
		}
	}
	e.part()
	for i, op := range batch {
		if !fresh.has(i) {
			continue
		}
		if old, was := e.rows.Set(op.Key, entry{op.Value, e.rev + 1}); was {
			e.rows.Set(op.Key, old)
			e.undo(batch[:i], fresh)
			return op.Key, nil
		}
	}
	e.rev++
	for i, op := range batch {
		if !fresh.has(i) {
			e.set(op, e.rev)
		}
	}
	return "", nil
}

// undo takes back the rows that a batch put where none was.
func (e *engine) undo(batch []store.Op, fresh places) {
	for i, op := range batch {
		if fresh.has(i) {
			e.rows.Delete(op.Key)
		}
	}
}

// places are some of the first 64 places of a batch. To expect that a row is not
// there and to put it takes one search of the tree where the put is among them.
type places uint64

func (p places) has(i int) bool { return i < 64 && p&(1<<i) != 0 }

// add adds the place of the put of a key, and reports whether there is one.
func (p *places) add(batch []store.Op, key string) bool {
	for i := range batch[:min(len(batch), 64)] {
		if op := &batch[i]; op.Kind == store.OpPut && op.Key == key {
			*p |= 1 << i
			return true
		}
	}
	return false
}

func (e *engine) set(op store.Op, rev uint64) {
	switch op.Kind {
	case store.OpPut:
		e.rows.Set(op.Key, entry{op.Value, rev})
	case store.OpDelete:
		e.rows.Delete(op.Key)
	}
}

// part lets the snapshot that is open go on with rows of its own. The caller
// holds mu.
func (e *engine) part() {
	if e.last != nil {
		e.last.own = &rows{*e.rows.Copy()}
		e.last = nil
	}
}

// Snapshot opens a snapshot, the same one for all who ask between two writes.
func (e *engine) Snapshot() store.EngineSnapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil {
		e.last = &snapshot{engine: e}
	}
	e.last.users++
	return e.last
}

func (e *engine) Close() error { return nil }

// snapshot is guarded by the engine's mu. Its own rows are nil as long as the
// engine's are the same.
type snapshot struct {
	engine *engine
	own    *rows
	users  int
}

func (s *snapshot) Get(key string) ([]byte, uint64, error) {
	s.engine.mu.RLock()
	defer s.engine.mu.RUnlock()
	return s.rows().get(key)
}

func (s *snapshot) Page(w store.Walk) ([]store.Row, string, error) {
	s.engine.mu.RLock()
	defer s.engine.mu.RUnlock()
	return s.rows().page(w)
}

func (s *snapshot) rows() *rows {
	if s.own != nil {
		return s.own
	}
	return &s.engine.rows
}

func (s *snapshot) End() {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	if s.users--; s.users == 0 && s.engine.last == s {
		s.engine.last = nil
	}
}

func (r *rows) get(key string) ([]byte, uint64, error) {
	row, ok := r.Get(key)
	if !ok {
		return nil, 0, nil
	}
	return append(make([]byte, 0, len(row.value)), row.value...), row.rev, nil
}

func (r *rows) page(w store.Walk) (page []store.Row, next string, err error) {
	size := 0
	visit := func(key string, row entry) bool {
		if !strings.HasPrefix(key, w.Prefix) {
			return false
		}
		if w.IsFull(len(page), size) {
			next = key
			return false
		}
		out := store.Row{Key: key, Rev: row.rev}
		if !w.Keys {
			out.Value = bytes.Clone(row.value)
		}
		size += len(key) + len(out.Value)
		page = append(page, out)
		return true
	}
	if w.Back {
		r.descend(w, visit)
	} else {
		r.Ascend(max(w.Prefix, w.From), visit)
	}
	return page, next, nil
}

// descend goes down from where the walk begins.
func (r *rows) descend(w store.Walk, visit func(string, entry) bool) {
	end, from := store.After(w.Prefix), w.From
	switch {
	case from != "" && (end == "" || from < end):
		r.Descend(from, visit)
	case end == "":
		r.Reverse(visit)
	default:
		r.Descend(end, func(key string, row entry) bool { return key == end || visit(key, row) })
	}
}
