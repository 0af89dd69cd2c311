package workspace

import (
	"context"
	"fmt"
	"maps"
)

// edit is one attempt to change the entry that holds a path: it collects one step of the store.
type edit struct {
	t     *Tree
	owner string
	*spot

	expect map[string]uint64
	put    map[string][]byte
	del    []string
}

func (t *Tree) begin(ctx context.Context, owner string, segs []string) (*edit, error) {
	s, err := t.find(ctx, owner, segs, segs[0] == "o")
	if err != nil {
		return nil, err
	}
	e := &edit{t: t, owner: owner, spot: s, expect: map[string]uint64{}, put: map[string][]byte{}}
	for _, l := range s.links {
		e.expect[l.key] = l.rev
	}
	return e, nil
}

// set puts item at the path.
func (e *edit) set(ctx context.Context, item any) (bool, error) {
	if e.rev != 0 && len(e.rest()) == 0 {
		return e.replace(ctx, item)
	}
	return e.modify(ctx, func(any, bool) (any, error) { return item, nil })
}

// add appends item to the array at the path.
func (e *edit) add(ctx context.Context, item any) (bool, error) {
	if e.rev == 0 || len(e.rest()) > 0 || !e.node.stored() || e.segs[0] == "o" {
		return e.modify(ctx, appendTo(e.segs, item))
	}
	if e.node.kind != vectorKind {
		return false, appendError(e.segs, e.node.typeName())
	}
	n, err := e.addCount(ctx, e.node.id, 1)
	if err != nil {
		return false, err
	}
	if err := e.store(elementKey(e.node.id, n), item); err != nil {
		return false, err
	}
	return e.apply(ctx)
}

// modify replaces what lies at the path by what change makes of it.
func (e *edit) modify(ctx context.Context, change func(old any, exists bool) (any, error)) (bool, error) {
	var v any
	var err error
	switch {
	case e.rev == 0 && e.inVector:
		n, _, err := e.t.count(ctx, e.branch)
		if err != nil {
			return false, err
		}
		// Whether the array is still the one that was counted decides if the message is true.
		if ok, err := e.t.unchanged(ctx, e.links); !ok || err != nil {
			return false, err
		}
		return false, indexError(e.segs[:e.depth-1], e.segs[e.depth-1], n)
	case e.rev == 0:
		v, err = modifyOrMake(nil, false, e.segs[:e.depth], e.rest(), change)
	default:
		if v, err = e.old(ctx); err != nil {
			return false, err
		}
		v, err = modify(v, e.segs[:e.depth], e.rest(), change)
	}
	if err != nil {
		return false, err
	}
	return e.replace(ctx, v)
}

// old is the entry's value.
func (e *edit) old(ctx context.Context) (any, error) {
	if e.node.kind == chunkKind {
		return "", nil // a long string; only that it is one can matter to a path below it
	}
	if !e.node.stored() {
		return parse(e.node.leaf)
	}
	out := &sink{limit: chunkLimit}
	if err := e.t.stream(ctx, e.node, out); err != nil {
		return nil, err
	}
	if out.over() {
		return nil, errTooLong
	}
	return parse(out.buf)
}

// replace stores v as the entry's value.
func (e *edit) replace(ctx context.Context, v any) (bool, error) {
	if e.segs[0] == "o" {
		if len(appendJSON(nil, v)) > chunkLimit {
			return false, errTooLong
		}
		if e.t.onWrite != nil {
			if err := e.t.onWrite(ctx, e.owner, e.segs[:e.depth], v); err != nil {
				return false, err
			}
		}
	}
	if e.rev == 0 {
		if _, err := e.addCount(ctx, e.branch, 1); err != nil {
			return false, err
		}
	}
	e.discard()
	if err := e.store(e.key, v); err != nil {
		return false, err
	}
	return e.apply(ctx)
}

// remove deletes what lies at the path.
func (e *edit) remove(ctx context.Context, _ any) (bool, error) {
	if e.rev == 0 {
		return e.t.unchanged(ctx, e.links)
	}
	if len(e.rest()) > 0 {
		v, err := e.old(ctx)
		if err != nil {
			return false, err
		}
		if !remove(v, e.rest()) {
			return e.t.unchanged(ctx, e.links)
		}
		return e.replace(ctx, v)
	}
	if e.inVector {
		return e.replace(ctx, nil)
	}
	if _, err := e.addCount(ctx, e.branch, ^uint64(0)); err != nil {
		return false, err
	}
	e.discard()
	e.del = append(e.del, e.key)
	return e.apply(ctx)
}

// discard marks what the entry refers to as garbage.
func (e *edit) discard() {
	if e.node.stored() && e.rev != 0 {
		e.put[markerKey(e.node.id)] = []byte(markGarbage)
	}
}

// addCount adds to a branch's number of entries and returns what it was.
func (e *edit) addCount(ctx context.Context, id branchID, delta uint64) (uint64, error) {
	n, rev, err := e.t.count(ctx, id)
	if err != nil {
		return 0, err
	}
	key := countKey(id)
	e.expect[key] = rev
	e.put[key] = encodeCount(n + delta)
	return n, nil
}

// store puts the entry for v, with the branches that it needs.
func (e *edit) store(key string, v any) error {
	p, err := e.t.planner.plan(v)
	if err != nil {
		return err
	}
	p.parts(func(b *built) {
		maps.Copy(e.put, b.puts)
		if b.marker != "" {
			e.expect[b.marker] = b.markerRev
			e.del = append(e.del, b.marker)
		}
	})
	e.put[key] = p.node.encode()
	return p.emit(func(key string, value []byte) error {
		e.put[key] = value
		return nil
	})
}

func (e *edit) apply(ctx context.Context) (bool, error) {
	moved, err := e.t.store.Apply(ctx, e.expect, e.put, e.del)
	if err != nil {
		return false, fmt.Errorf("write %s: %w", join(e.segs), err)
	}
	if moved == "" && e.node.stored() {
		e.t.wakeSweeper()
	}
	return moved == "", nil
}
