package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"usher/venue/store"
)

// save stores the record as it is now.
func (r *Run) save(ctx context.Context) error {
	d := draft{make(map[string]uint64, 1), make(map[string][]byte, 3)}
	if err := r.expectOwner(ctx, d.expect); err != nil {
		return err
	}
	del, err := r.draft(d)
	if err != nil {
		return err
	}
	moved, err := r.book.opts.Store.Apply(ctx, d.expect, d.put, del)
	if err == nil && moved != "" {
		err = errTaken
	}
	if err != nil {
		return fmt.Errorf("store job %s: %w", r.rec.ID, err)
	}
	return nil
}

// create stores the first record of the run, with what goes with it. A run of the same
// id is never stored over.
func (r *Run) create(ctx context.Context, with *With) error {
	if with == nil {
		return r.save(ctx)
	}
	put := maps.Clone(with.Put)
	if put == nil {
		put = make(map[string][]byte, 2)
	}
	expect := maps.Clone(with.Expect)
	if expect == nil {
		expect = make(map[string]uint64, 1)
	}
	if _, err := r.draft(draft{expect, put}); err != nil {
		return err
	}
	expect[r.key] = 0
	first := put[r.key]
	moved, err := r.book.opts.Store.Apply(ctx, expect, put, with.Del)
	switch {
	case errors.Is(err, store.ErrUnknown):
		if stored, _, readErr := r.book.opts.Store.Get(ctx, r.key); readErr == nil && bytes.Equal(stored, first) {
			return nil
		}
		return fmt.Errorf("store job %s: %w", r.rec.ID, err)
	case err != nil:
		return fmt.Errorf("store job %s: %w", r.rec.ID, err)
	case moved != "":
		return ErrMoved
	}
	return nil
}

// draft adds the record as it is now to a batch.
func (r *Run) draft(d draft) (del []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Updated = r.book.opts.Now().UnixMilli()
	if r.key == "" {
		r.key, r.mark = runKey(r.owner, r.rec.ID), openKey(r.owner, r.rec.ID)
	}
	if d.put[r.key], err = r.rec.encode(); err != nil {
		return nil, err
	}
	switch r.rec.Status {
	case Started:
		if r.fresh {
			key := callKey(r.owner, r.rec.Key)
			d.put[key], d.expect[key] = []byte(r.rec.ID), 0
			r.fresh = false
		}
		if r.claim == 0 {
			d.put[r.mark] = r.book.process
		}
		if r.again {
			del = []string{holdKey(r.owner, r.rec.ID)}
		}
	case Waiting, Paused:
		d.put[holdKey(r.owner, r.rec.ID)] = []byte{}
		del = []string{r.mark}
	default:
		del = []string{r.mark}
	}
	r.book.note(r.owner, &r.rec, d.put)
	return del, nil
}
