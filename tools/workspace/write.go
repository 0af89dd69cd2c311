package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"

	"usher/caps"
	"usher/caps/value"
)

// write stores what raw JSON holds at r, or adds it to the array there, and makes
// the maps that are missing on the way. Writing below a scalar or beyond the end of
// an array is an error.
func (t *Tree) write(ctx context.Context, owner string, r caps.Resource, raw json.RawMessage, how manner) error {
	v, err := value.Decode(raw, value.MaxDepth)
	if errors.Is(err, value.ErrTooDeep) {
		return fmt.Errorf("the value nests deeper than %d levels: write its parts under paths of their own", value.MaxDepth)
	}
	if err != nil {
		return fmt.Errorf("parse value: %w", err)
	}
	return t.place(ctx, owner, r, v, how)
}

// attempts bounds how often a lost race is run again.
const attempts = 100

// place runs a write with fresh reads until its batch is applied. Removing leaves
// null in an array; nothing there is no error.
func (t *Tree) place(ctx context.Context, owner string, r caps.Resource, v any, how manner) error {
	owner, segs, err := locateKey(owner, r)
	if err != nil {
		return err
	}
	it, err := t.prepare(segs, v)
	if err != nil {
		return err
	}
	queue := t.queue(owner, segs)
	select {
	case queue <- struct{}{}:
		defer func() { <-queue }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for range attempts {
		if moved, err := t.attempt(ctx, owner, segs, it, how); err != nil || moved == "" {
			return err
		}
	}
	return fmt.Errorf("write %s: %w", join(segs), ErrBusy)
}

// item is a value to write, and its plan where it may become an entry of its own.
type item struct {
	value any
	plan  *plan
}

// prepare plans a value. What lies below o/ is always one leaf.
func (t *Tree) prepare(segs []string, v any) (item, error) {
	if segs[0] != "o" {
		p, err := t.plan(v)
		return item{v, p}, err
	}
	leaf := value.Append(nil, v)
	if len(leaf) > maxCallable {
		return item{}, errCallableTooLarge
	}
	return item{v, &plan{node: node{kind: leafKind, leaf: leaf}}}, nil
}

// queue is where the writers to one collection wait for each other. What they write is ready by
// then, so that nobody waits long.
func (t *Tree) queue(owner string, segs []string) chan struct{} {
	var h maphash.Hash
	h.SetSeed(t.seed)
	_, _ = h.WriteString(owner)
	for _, s := range segs[:2] {
		_ = h.WriteByte('/')
		_, _ = h.WriteString(s)
	}
	return t.queues[h.Sum64()%uint64(len(t.queues))]
}

func (t *Tree) attempt(ctx context.Context, owner string, segs []string, it item, how manner) (moved string, err error) {
	e, err := t.read(ctx, owner, segs, it, how)
	if err != nil || len(e.put)+len(e.del) == 0 {
		return "", err
	}
	size := 0
	for key, value := range e.put {
		size += len(key) + len(value)
	}
	for _, key := range e.del {
		size += len(key)
	}
	if err := t.charge(ctx, size); err != nil {
		return "", err
	}
	if moved, err = t.store.Apply(ctx, e.expect, e.put, e.del); err != nil {
		return "", fmt.Errorf("write %s: %w", join(segs), err)
	}
	if moved == "" && e.node.stored() {
		t.wakeSweeper()
	}
	return moved, nil
}

// read collects the batch of one attempt, from one moment.
func (t *Tree) read(ctx context.Context, owner string, segs []string, it item, how manner) (*edit, error) {
	at, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	defer at.close()
	s, err := at.find(ctx, owner, segs)
	if err != nil {
		return nil, err
	}
	e := &edit{view: at, owner: owner, spot: s, expect: s.links, put: map[string][]byte{}}
	if err := e.apply(ctx, it, how); err != nil {
		return nil, err
	}
	return e, e.sign(ctx, segs, how)
}
