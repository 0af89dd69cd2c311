package workspace

import (
	"context"
	"errors"
	"fmt"
)

// edit is one attempt to change the entry that holds a path: it collects one batch.
type edit struct {
	view
	owner string
	*spot

	// merged says that the new value is made of what the caller gave and of what was there.
	merged bool
	expect map[string]uint64
	put    map[string][]byte
	del    []string
}

// set puts item at the path.
func (e *edit) set(ctx context.Context, it item) error {
	if e.array > 0 && !e.t.shows(e.segs[:e.array]) {
		return e.refusal() // whether there is such an index tells the length
	}
	if len(e.rest()) == 0 && (e.rev != 0 || !e.inVector) {
		return e.replace(ctx, it)
	}
	return e.modify(ctx, func(any, bool) (any, error) { return it.value, nil })
}

// add appends item to the array at the path.
func (e *edit) add(ctx context.Context, it item) error {
	if e.array > 0 && !e.t.shows(e.segs[:e.array]) {
		return e.refusal()
	}
	if e.rev == 0 || len(e.rest()) > 0 || !e.node.stored() {
		return e.modify(ctx, appendTo(e.segs, it.value))
	}
	if e.merged = true; e.node.kind != vectorKind {
		return e.hide(appendError(e.segs, e.node.typeName()))
	}
	n, err := e.addCount(ctx, e.node.id, 1)
	if err != nil {
		return err
	}
	e.store(elementKey(e.node.id, n), it)
	return nil
}

// modify replaces what lies at the path by what change makes of it.
func (e *edit) modify(ctx context.Context, change func(old any, exists bool) (any, error)) error {
	var v any
	var err error
	switch {
	case e.rev == 0 && e.inVector:
		n, _, err := e.count(ctx, e.branch)
		if err != nil {
			return err
		}
		return indexError(e.segs[:e.depth-1], e.segs[e.depth-1], n)
	case e.rev == 0:
		v, err = modifyOrMake(nil, false, e.segs[:e.depth], e.rest(), change)
	default: // a leaf: find goes on below a branch
		e.merged = true
		if v, err = parse(e.node.leaf); err != nil {
			return err
		}
		if i := arrayOn(v, e.rest()); i >= 0 && !e.t.shows(e.segs[:e.depth+i]) {
			return e.refusal()
		}
		v, err = modify(v, e.segs[:e.depth], e.rest(), change)
	}
	if err != nil {
		return e.hide(err)
	}
	made, err := e.t.prepare(e.segs, v)
	if err != nil {
		return e.hide(err)
	}
	return e.replace(ctx, made)
}

// replace stores item as the entry's value.
func (e *edit) replace(ctx context.Context, it item) error {
	if e.segs[0] == "o" && e.t.onWrite != nil {
		if err := e.t.onWrite(ctx, it.value, e.t.meter); err != nil {
			return e.hide(err)
		}
	}
	if e.rev == 0 {
		if _, err := e.addCount(ctx, e.branch, 1); err != nil {
			return err
		}
	}
	e.discard()
	e.store(e.key, it)
	return nil
}

// remove deletes what lies at the path.
func (e *edit) remove(ctx context.Context, null item) error {
	switch {
	case e.rev == 0:
		return nil
	case len(e.rest()) > 0:
		e.merged = true
		v, err := parse(e.node.leaf)
		if err != nil || !remove(v, e.rest()) {
			return err
		}
		left, err := e.t.prepare(e.segs, v)
		if err != nil {
			return e.hide(err)
		}
		return e.replace(ctx, left)
	case e.inVector:
		return e.replace(ctx, null)
	}
	if _, err := e.addCount(ctx, e.branch, -1); err != nil {
		return err
	}
	e.discard()
	e.del = append(e.del, e.key)
	return nil
}

// discard marks what the entry refers to as garbage.
func (e *edit) discard() {
	if e.rev != 0 && e.node.stored() {
		e.put[markerKey(e.node.id)] = nil
	}
}

// addCount adds to a branch's number of entries and returns what it was.
func (e *edit) addCount(ctx context.Context, id branchID, delta int) (int, error) {
	n, rev, err := e.count(ctx, id)
	if err != nil {
		return 0, err
	}
	key := countKey(id)
	e.expect[key] = rev
	e.put[key] = encodeCount(n + delta)
	return n, nil
}

// store puts the entry for an item, with the branches that it needs.
func (e *edit) store(key string, it item) {
	e.put[key] = it.plan.node.encode()
	it.plan.emit(e.put)
}

// hide keeps from a writer who may not read there what an error says of what is there.
func (e *edit) hide(err error) error {
	at := e.segs[:e.depth]
	if there, ok := errors.AsType[*shapeError](err); ok {
		at = there.at
	} else if !e.merged {
		return err // it speaks of what the writer gave
	}
	if err == nil || e.t.shows(at) {
		return err
	}
	return e.refusal()
}

func (e *edit) refusal() error {
	return fmt.Errorf("%s cannot be written like this as things stand there, and as you may not read above it, no more is said: write to another path, or ask someone who may read", join(e.segs))
}
