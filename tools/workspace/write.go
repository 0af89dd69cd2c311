package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/keylock"
)

// write stores what raw JSON holds at r, or adds it to the array there, and makes
// the maps that are missing on the way. Writing below a scalar or beyond the end of
// an array is an error. Removing leaves null in an array; nothing there is no error.
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

// copy stores at to what lies at from. It takes the value as it is now, so a tree may be copied
// into itself; a write that comes between the reading and the writing is not in the copy. What is
// larger than one value may be is an error.
func (t *Tree) copy(ctx context.Context, fromOwner string, from caps.Resource, toOwner string, to caps.Resource) error {
	out := &sink{limit: batchBytes, short: true}
	rev, author, err := t.source(ctx, fromOwner, from, strings.HasPrefix(to.In(toOwner).String(), "o/"), out)
	switch {
	case errors.Is(err, errOver):
		return fmt.Errorf("%s is too large to be copied at once: one value may have at most %d bytes of JSON: copy its parts one by one", from, maxValue)
	case err != nil:
		return err
	case rev == 0:
		return fmt.Errorf("source not found: there is nothing at %s", from)
	}
	value, err := parse(out.buf)
	if err != nil {
		return err
	}
	writer := *t
	if t.author != nil {
		both := t.author.And(author)
		writer.author = &both
	}
	return writer.place(ctx, toOwner, to, value, replaces)
}

var errAllPrograms = errors.New("o/ cannot be copied to o/ as a whole: who wrote a program goes with it: copy them one by one")

// source writes what lies at r to out, and returns, where the copy is to be a program, who wrote
// it, as both are at one moment.
func (t *Tree) source(ctx context.Context, owner string, r caps.Resource, program bool, out *sink) (rev uint64, author tools.Author, err error) {
	v, err := t.look(ctx)
	if err != nil {
		return 0, author, err
	}
	defer v.close()
	n, rev, err := v.resolve(ctx, owner, r)
	if err == nil && rev != 0 && out != nil {
		err = v.stream(ctx, n, out)
	}
	if err != nil || t.author == nil || !program {
		return rev, author, err
	}
	owner, segs, err := locate(owner, r)
	switch {
	case err != nil || segs[0] != "o":
	case len(segs) == 1:
		err = errAllPrograms
	default:
		author, err = v.writers(ctx, owner, segs[1])
	}
	return rev, author, err
}

// attempts bounds how often a lost race is run again.
const attempts = 100

// place runs a write with fresh reads until its batch is applied.
func (t *Tree) place(ctx context.Context, owner string, r caps.Resource, v any, how manner) error {
	owner, segs, err := locateKey(owner, r)
	if err != nil {
		return err
	}
	it, err := t.prepare(segs, v)
	if err != nil {
		return err
	}
	writing, _, err := t.writers.Lock(ctx, owner+"/"+segs[0]+"/"+segs[1])
	if err != nil {
		return err
	}
	defer writing.Unlock()
	var counting keylock.Hold
	defer func() { counting.Unlock() }()
	for range attempts {
		e, err := t.edit(ctx, owner, segs, it, how)
		if err != nil || len(e.put)+len(e.del) == 0 {
			return err
		}
		if e.counted != "" && counting == (keylock.Hold{}) {
			var waited bool
			if counting, waited, err = t.counters.Lock(ctx, e.counted); err != nil {
				return err
			}
			if waited {
				continue // others have changed what it read
			}
		}
		moved, err := t.store.Apply(ctx, e.expect, e.put, e.del)
		if err != nil {
			return fmt.Errorf("write %s: %w", join(segs), err)
		}
		if moved == "" {
			if e.rev != 0 && e.node.isStored() {
				t.wakeSweeper()
			}
			return nil
		}
	}
	return fmt.Errorf("write %s: %w", join(segs), ErrBusy)
}

// edit collects the batch of one attempt, from one moment, and charges it.
func (t *Tree) edit(ctx context.Context, owner string, segs []string, it item, how manner) (*edit, error) {
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
	if err := e.sign(ctx, how); err != nil {
		return nil, err
	}
	size := 0
	for key, value := range e.put {
		size += len(key) + len(value)
	}
	for _, key := range e.del {
		size += len(key)
	}
	return e, t.charge(ctx, size)
}
