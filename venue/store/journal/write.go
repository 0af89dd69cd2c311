package journal

import (
	"fmt"

	"usher/venue/store"
	"usher/venue/store/group"
)

// writer is what writing a group needs, used again and again by whoever leads.
type writer struct {
	keys   map[string]bool // that the group writes
	rows   map[string]mark // that the group asks for, as they are before it
	recent recent
	ops    []store.Op
	data   []byte
}

// write writes a group as one record, and then to the index.
func (e engine) write(group []*draft) {
	defer e.writer.forget()
	err := e.read(func(i Index) error { return e.check(i, group) })
	if err == nil && len(e.writer.ops) > 0 {
		if err = e.writable(); err == nil {
			err = e.record()
		}
	}
	if err == nil {
		return
	}
	for _, p := range group {
		if p.moved == "" {
			p.Err = err
		}
	}
}

// check finds out which batches of a group hold what they expect, and lays out what those write.
func (e engine) check(i Index, group []*draft) error {
	w := &e.writer
	if w.rows == nil {
		w.rows = make(map[string]mark)
	}
	clear(w.rows) // of a check before, that met a row which was lost
	w.ops = w.ops[:0]
	for _, p := range group {
		p.moved = ""
		for _, op := range p.batch {
			row, asked := w.rows[op.Key]
			if !asked {
				var err error
				if row, err = w.recent.find(i, op.Key); err != nil {
					return fmt.Errorf("key %q: %w", op.Key, err)
				}
				w.rows[op.Key] = row
			}
			if op.Kind == store.OpExpect && row.rev != op.Rev && p.moved == "" {
				p.moved = op.Key
			}
		}
		if p.moved != "" {
			continue
		}
		for _, op := range p.batch {
			if op.Kind == store.OpPut || op.Kind == store.OpDelete && w.rows[op.Key].rev != 0 {
				w.ops = append(w.ops, op)
			}
		}
	}
	return nil
}

// record writes what check has laid out.
func (e engine) record() error {
	w := &e.writer
	r := record{position: e.now.position + 1, time: e.o.Now(), sum: e.now.sum, ops: w.ops}
	for _, op := range w.ops {
		if old := w.rows[op.Key]; old.rev != 0 {
			r.sum.remove(old.hash)
		}
		var is mark
		if op.Kind == store.OpPut {
			is = mark{r.position, hash(store.Row{Key: op.Key, Value: op.Value, Rev: r.position})}
			r.sum.add(is.hash)
		}
		w.rows[op.Key] = is
	}
	w.data = r.append(w.data[:0])
	if err := e.log.append(r.position, w.data); err != nil {
		return err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.state.Lock()
	defer e.state.Unlock()
	e.now = moment{r.position, r.time, r.sum, e.now.written + int64(len(w.data))}
	if e.index != nil { // it is in the journal, and so it is written
		if err := e.index.Write(r.position, w.ops); err != nil {
			e.doubtful(err)
		}
	}
	for _, op := range w.ops {
		w.recent.note(op.Key, w.rows[op.Key])
	}
	return nil
}

// forget lets go of what a group had.
func (w *writer) forget() {
	clear(w.rows)
	clear(w.ops)
	if cap(w.data) > 64<<10 {
		w.data = nil
	}
}

// draft is a batch that waits to be written. As nobody else writes than whoever writes its group,
// what is expected cannot move while it is checked.
type draft struct {
	group.Turn
	batch []store.Op
	moved string
}

// Apply has the batch written with those of others. It is on disk when it returns.
func (e engine) Apply(batch []store.Op) (moved string, err error) {
	p, ok := e.batches.Get().(*draft)
	if !ok {
		p = new(draft)
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
func (w *writer) take(waiting []*draft) (n int) {
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
