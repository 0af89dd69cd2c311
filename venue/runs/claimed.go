package runs

import (
	"bytes"
	"context"
	"encoding/json"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue/ledger"
	"usher/venue/store"
)

// errTaken: another process drives the run, which changes nothing more here.
var errTaken = fault.New(fault.InTheWay, "another process has taken the run over")

// take marks the run as this process's, whosever it was.
func (r *Run) take(ctx context.Context) error {
	_, rev, err := r.book.opts.Store.Get(ctx, r.mark)
	if err != nil {
		return err
	}
	d := draft{map[string]uint64{r.mark: rev}, make(map[string][]byte, 2)}
	del, err := r.draft(d)
	if err != nil {
		return err
	}
	moved, err := r.book.opts.Store.Apply(ctx, d.expect, d.put, del)
	if err == nil && moved != "" {
		err = errTaken
	}
	return err
}

// expectOwner adds to what a write expects that the run is this process's.
func (r *Run) expectOwner(ctx context.Context, expect map[string]uint64) error {
	r.mu.Lock()
	mark, claim, stored := r.mark, r.claim, r.key != ""
	r.mu.Unlock()
	if !stored {
		return nil // it is about to be
	}
	if claim == 0 {
		raw, rev, err := r.book.opts.Store.Get(context.WithoutCancel(ctx), mark)
		if err != nil {
			return err
		}
		if !bytes.Equal(raw, r.book.process) {
			return errTaken
		}
		claim = rev
		r.mu.Lock()
		r.claim = rev
		r.mu.Unlock()
	}
	expect[mark] = claim
	return nil
}

// expectHere adds to a batch that no other process has taken the run over, also where it has
// ended or rests. Of no run it says nothing.
func (r *Run) expectHere(ctx context.Context, with *ledger.Batch) error {
	if r == nil {
		return nil
	}
	if with.Expect == nil {
		with.Expect = make(map[string]uint64, 2)
	}
	r.mu.Lock()
	mark, over := r.mark, r.over && r.key != ""
	r.mu.Unlock()
	if !over {
		return r.expectOwner(ctx, with.Expect)
	}
	raw, rev, err := r.book.opts.Store.Get(context.WithoutCancel(ctx), mark)
	if err == nil && rev != 0 && !bytes.Equal(raw, r.book.process) {
		err = errTaken
	}
	with.Expect[mark] = rev
	return err
}

// begins notes that the operation of a job was allowed, with the decision: a job that
// has not begun can begin anew.
func (r *Run) begins(ctx context.Context, e *tools.Entry) (with ledger.Batch, err error) {
	if r == nil || r.rec.Kind != Job || e.Verdict != tools.Allowed || e.Job != r.rec.ID {
		return with, nil
	}
	r.mu.Lock()
	began := r.rec.Began
	r.rec.Began = true
	r.mu.Unlock()
	if began {
		return with, nil
	}
	d := draft{make(map[string]uint64, 1), make(map[string][]byte, 2)}
	if err := r.expectOwner(ctx, d.expect); err != nil {
		return with, err
	}
	del, err := r.draft(d)
	return ledger.Batch{Expect: d.expect, Put: d.put, Del: del}, err
}

// reads takes the log of a run outside of sessions into memory.
func (r *Run) reads(ctx context.Context) error {
	for row, err := range store.Rows(ctx, r.book.opts.Store, logKey(r.owner, r.rec.ID, ""), "") {
		var e runtime.Entry
		if err == nil {
			err = json.Unmarshal(row.Value, &e)
		}
		if err != nil {
			return err
		}
		r.seq = e.Seq
		r.entries = append(r.entries, eventView{e.Seq, e.Time, e.Event})
		if s, ok := e.Event.(runtime.Step); ok {
			r.rec.Steps = place1(r.rec.Steps, s)
		}
	}
	return nil
}
