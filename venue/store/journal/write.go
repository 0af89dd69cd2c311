package journal

import (
	"fmt"

	"usher/venue/store"
)

// writer is what writing a group needs, used again and again by whoever leads.
type writer struct {
	keys    map[string]bool // that the group writes
	rows    map[string]mark // that the group asks for, as they are before it
	recent  recent
	ops     []store.Op
	changes []change
	data    []byte
}

// change is what a group does to a row.
type change struct {
	key string
	by  Sum
}

// write writes a group as one record, and then to the index.
func (e engine) write(group []*pending) {
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
func (e engine) check(i Index, group []*pending) error {
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
	w.changes = w.changes[:0]
	for _, op := range w.ops {
		c := change{key: op.Key}
		if old := w.rows[op.Key]; old.rev != 0 {
			c.by.remove(old.hash)
		}
		var is mark
		if op.Kind == store.OpPut {
			is = mark{r.position, hash(store.Row{Key: op.Key, Value: op.Value, Rev: r.position})}
			c.by.add(is.hash)
		}
		w.rows[op.Key] = is
		r.sum.change(c.by)
		w.changes = append(w.changes, c)
	}
	w.data = r.append(w.data[:0])
	if err := e.log.append(r.position, w.data); err != nil {
		return err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.state.Lock()
	defer e.state.Unlock()
	e.now = moment{r.position, r.time, r.sum}
	e.since += int64(len(w.data))
	if e.index != nil { // it is in the journal, and so it is written
		if err := e.index.Write(r.position, w.ops); err != nil {
			e.doubtful(err)
		}
	}
	e.scrub.follow(w.changes)
	for _, op := range w.ops {
		w.recent.note(op.Key, w.rows[op.Key])
	}
	return nil
}

// forget lets go of what a group had.
func (w *writer) forget() {
	clear(w.rows)
	clear(w.ops)
	clear(w.changes)
	if cap(w.data) > 64<<10 {
		w.data = nil
	}
}
