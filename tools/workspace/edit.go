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
	merged  bool
	counted string // key of the number that it changes, of a branch's entries; empty: of none
	expect  map[string]uint64
	put     map[string][]byte
	del     []string
}

// manner is what a write does with what was there.
type manner int

const (
	replaces manner = iota
	adds
	removes // with null as the item, which it leaves in an array
)

// apply collects the batch of a write.
func (e *edit) apply(ctx context.Context, it item, how manner) error {
	if how == removes && e.rev == 0 {
		return nil
	}
	if how != removes && e.array > 0 && !e.t.shows(e.segs[:e.array]) {
		return e.refusal() // whether there is such an index tells the length
	}
	if whole := len(e.rest()) == 0; whole && (e.rev != 0 || !e.inVector) {
		switch {
		case how == replaces, how == removes && e.inVector:
			return e.replace(ctx, it)
		case how == removes:
			return e.drop(ctx)
		case e.rev != 0 && e.node.isStored():
			return e.push(ctx, it)
		}
	}
	return e.modify(ctx, change{how, it.value})
}

// push appends to the array that is a branch of its own.
func (e *edit) push(ctx context.Context, it item) error {
	if e.merged = true; !e.node.isVector() {
		return e.hide(appendError(e.segs, e.node.typeName()))
	}
	n, err := e.addCount(ctx, e.node.id(), 1)
	e.store(elementKey(e.node.id(), n), it)
	return err
}

// modify replaces the entry by what a change makes of it. It is a leaf, or is not there: find goes
// on below a branch.
func (e *edit) modify(ctx context.Context, c change) error {
	if e.rev == 0 && e.inVector {
		n, _, err := e.count(ctx, e.branch)
		if err != nil {
			return err
		}
		return indexError(e.segs[:e.depth-1], e.segs[e.depth-1], n)
	}
	var v any
	var err error
	if e.rev != 0 {
		e.merged = true
		if v, err = parse(e.node); err != nil {
			return err
		}
		if i := arrayOn(v, e.rest()); c.how != removes && i >= 0 && !e.t.shows(e.segs[:e.depth+i]) {
			return e.refusal()
		}
	}
	v, _, err = c.in(v, e.rev != 0, e.path(), e.rest())
	if err != nil && c.how == removes {
		return nil // there is nothing to remove
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
	if e.segs[0] == "o" && e.t.opts.OnWrite != nil {
		if err := e.t.opts.OnWrite(ctx, it.value, e.t.meter); err != nil {
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

// drop removes the entry.
func (e *edit) drop(ctx context.Context) error {
	e.discard()
	e.del = append(e.del, e.key)
	_, err := e.addCount(ctx, e.branch, -1)
	return err
}

// discard marks what the entry refers to as garbage.
func (e *edit) discard() {
	if e.rev != 0 && e.node.isStored() {
		e.put[markerKey(e.node.id())] = nil
	}
}

// addCount adds to a branch's number of entries and returns what it was.
func (e *edit) addCount(ctx context.Context, id branchID, delta int) (int, error) {
	n, rev, err := e.count(ctx, id)
	key := countKey(id)
	e.counted, e.expect[key] = key, rev
	e.put[key] = encodeCount(n + delta)
	return n, err
}

// store puts the entry for an item, with the branches that it needs.
func (e *edit) store(key string, it item) {
	e.put[key] = it.plan.node
	it.plan.emit(e.put)
}

// hide keeps from a writer who may not read there what an error says of what is there.
func (e *edit) hide(err error) error {
	at := e.path()
	if there, ok := errors.AsType[*shapeError](err); ok {
		at = there.at
	} else if !e.merged {
		return err // it speaks of what the writer gave
	}
	if e.t.shows(at) {
		return err
	}
	return e.refusal()
}

func (e *edit) refusal() error {
	return fmt.Errorf("%s cannot be written like this as things stand there, and as you may not read above it, no more is said: write to another path, or ask someone who may read", join(e.segs))
}
