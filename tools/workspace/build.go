package workspace

import (
	"context"
	"errors"
)

// One step of the store takes 1 MiB and 10 000 keys; these leave room for the largest single
// entry and for what linking adds.
const (
	batchBytes = 512 << 10
	batchKeys  = 4000
)

// built is a value that is ready to be linked: its node, and either the entries of its branches
// that are still to be written with the link, or, if there were too many, the marker that protects
// those that are written already.
type built struct {
	node      node
	puts      map[string][]byte
	marker    string // "" when everything is in puts
	markerRev uint64
}

// build prepares a normal value for linking. The caller must call release in the end.
func (t *Tree) build(ctx context.Context, v any) (*built, error) {
	p, err := t.planner.plan(v)
	if err != nil {
		return nil, err
	}
	e := t.emitter(p.node)
	err = p.emit(func(key string, value []byte) error { return e.put(ctx, key, value) })
	if err == nil {
		err = e.finish(ctx)
	}
	if err != nil {
		t.release(e.built)
		return nil, err
	}
	return e.built, nil
}

// release ends the protection of what was built. Linked or not, the sweeper finds out: linking
// removes the marker.
func (t *Tree) release(b *built) {
	if b.marker == "" {
		return
	}
	t.mu.Lock()
	delete(t.building, b.node.id)
	t.mu.Unlock()
	t.wakeSweeper()
}

// emitter collects entries and writes them in steps once there are too many for one. The first
// step writes the marker of the top branch; everything else is reachable from there.
type emitter struct {
	t     *Tree
	built *built
	bytes int
}

func (t *Tree) emitter(top node) *emitter {
	return &emitter{t: t, built: &built{node: top, puts: map[string][]byte{}}}
}

func (e *emitter) put(ctx context.Context, key string, value []byte) error {
	e.built.puts[key] = value
	e.bytes += len(key) + len(value)
	if e.bytes < batchBytes && len(e.built.puts) < batchKeys {
		return nil
	}
	return e.flush(ctx)
}

// finish writes the rest, unless nothing was written yet: then it goes with the link.
func (e *emitter) finish(ctx context.Context) error {
	if e.built.marker == "" || len(e.built.puts) == 0 {
		return nil
	}
	return e.flush(ctx)
}

// What a marker says: that the branch is being built, or that a sweeper has begun on it. A process
// knows its own builds; the difference is for one that shares the store.
const (
	markBuilding = "b"
	markGarbage  = "g"
	markSwept    = "s"
)

var errTaken = errors.New("store value: another process took its parts for garbage: write it again")

func (e *emitter) flush(ctx context.Context) error {
	b := e.built
	first := b.marker == ""
	if first {
		e.t.mu.Lock()
		e.t.building[b.node.id] = struct{}{}
		e.t.mu.Unlock()
		b.marker = markerKey(b.node.id)
		b.puts[b.marker] = []byte(markBuilding)
	}
	moved, err := e.t.store.Apply(ctx, map[string]uint64{b.marker: b.markerRev}, b.puts, nil)
	if err != nil {
		return err
	}
	if moved != "" {
		return errTaken
	}
	b.puts, e.bytes = map[string][]byte{}, 0
	if first {
		var mark []byte
		mark, b.markerRev, err = e.t.store.Get(ctx, b.marker)
		if err == nil && string(mark) != markBuilding {
			return errTaken
		}
	}
	return err
}
