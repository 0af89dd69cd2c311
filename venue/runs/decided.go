package runs

import (
	"context"
	"maps"
	"slices"

	"usher/tools"
	"usher/venue/ledger"
)

// RecordDecision writes a decision of the gate; of a call that a turn makes itself
// together with the events that led to it.
func (b *Book) RecordDecision(ctx context.Context, e tools.Entry) (uint64, error) {
	return b.decide(ctx, &e)
}

func (b *Book) writeDecision(ctx context.Context, e *tools.Entry) (uint64, error) {
	r := From(ctx)
	if r == nil || r.session == nil || e.Inner {
		with, err := r.begins(ctx, e)
		if err == nil {
			err = r.expectHere(ctx, &with)
		}
		if err != nil {
			return 0, err
		}
		use(&with, e.Grant)
		return b.opts.Ledger.RecordDecision(ctx, *e, with)
	}
	l := r.session.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != r {
		var with ledger.Batch
		if err := r.expectHere(ctx, &with); err != nil {
			return 0, err
		}
		use(&with, e.Grant)
		return b.opts.Ledger.RecordDecision(ctx, *e, with)
	}
	if l.failed != nil {
		return 0, l.failed
	}
	if len(l.outcomes) > 0 {
		if err := l.flush(ctx); err != nil {
			return 0, err
		}
	}
	if err := l.ahead(context.Background()); err != nil {
		return 0, err
	}
	d := drafts.Get().(*draft) //nolint:forcetypeassert // the pool has nothing else
	defer d.reuse()
	batch, written, err := l.batch(ctx, d)
	if err != nil {
		return 0, err
	}
	use(&batch, e.Grant)
	seq, err := b.opts.Ledger.RecordDecision(context.Background(), *e, batch) // as flush
	if moved, ok := ledger.StaleKey(err); ok && e.Grant != nil && e.Grant.Put[moved] != nil {
		written(false) // and all of it waits for the next batch
		l.unsaved = true
		if l.run != nil {
			l.run.forgets()
		}
		return 0, err
	}
	if err := l.settle(err, written); err != nil {
		return 0, err
	}
	if e.Verdict == tools.Allowed {
		l.direct = append(l.direct, decision{seq, e.Call})
	}
	return seq, nil
}

// use adds the answer of a person, which is used up with a decision.
func use(b *ledger.Batch, g *tools.Grant) {
	if g == nil {
		return
	}
	if b.Expect == nil {
		b.Expect = make(map[string]uint64, 1)
	}
	if b.Put == nil {
		b.Put = make(map[string][]byte, 1)
	}
	maps.Copy(b.Expect, g.Expect)
	maps.Copy(b.Put, g.Put)
}

// writeOutcome writes the outcome of a call; of one that a turn makes itself it
// waits for the result in the log, and is written with it.
func (b *Book) writeOutcome(ctx context.Context, seq uint64, failure error) error {
	r := From(ctx)
	if r == nil || r.session == nil {
		return b.conclude(ctx, r, seq, failure)
	}
	l := r.session.log
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.direct, func(d decision) bool { return d.seq == seq })
	if i < 0 {
		return b.conclude(ctx, r, seq, failure)
	}
	of := l.direct[i]
	l.direct = slices.Delete(l.direct, i, i+1)
	if l.failed != nil { // the result will not be in the log
		return b.conclude(ctx, r, seq, failure)
	}
	l.outcomes = append(l.outcomes, outcome{of, failure})
	return nil
}

// conclude writes the outcome of a call by itself. It is not written of a run that
// another process has taken over, to which it is unknown.
func (b *Book) conclude(ctx context.Context, r *Run, seq uint64, failure error) error {
	for again := false; ; again = true {
		var with ledger.Batch
		if err := r.expectHere(ctx, &with); err != nil {
			return err
		}
		err := b.opts.Ledger.RecordOutcome(ctx, seq, failure, with)
		if _, moved := ledger.StaleKey(err); !moved || again { // the run may have ended just now
			return err
		}
	}
}
