package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"usher/venue/ledger"
	"usher/venue/store"
)

// batch lays out what waits. The caller holds mu.
func (l *sessionLog) batch(ctx context.Context, d *draft) (b ledger.Batch, written func(bool), err error) {
	b = ledger.Batch{Expect: d.expect, Put: d.put}
	written = func(bool) {}
	if len(l.waiting) > 0 {
		b.Expect[l.waiting[0].key] = 0 // nobody else writes the log
	}
	for _, w := range l.waiting {
		b.Put[w.key] = w.raw
	}
	if l.unsaved {
		if b.Put[l.headKey], err = l.head.MarshalJSON(); err != nil {
			return b, written, err
		}
		if waiting := l.head.Waiting; waiting > 0 {
			b.Put[waitKey(l.of, l.id)] = strconv.AppendInt(nil, int64(waiting), 10)
			l.marked = true
		} else if l.marked {
			b.Del = append(b.Del, waitKey(l.of, l.id))
			l.marked = false
		}
	}
	if r := l.run; r != nil {
		if err := r.expectOwner(ctx, b.Expect); err != nil {
			return b, written, err
		}
		if r.rec.Kind == Turn && r.isUnsaved() {
			del, err := r.draft(*d)
			if err != nil {
				return b, written, err
			}
			b.Del = append(b.Del, del...)
		}
	}
	if done := l.book.opts.Spending.Draft(ctx, b.Put); done != nil {
		written = done
	}
	return b, written, nil
}

// settle says how a batch went. The caller holds mu.
func (l *sessionLog) settle(err error, written func(bool)) error {
	written(err == nil)
	if err != nil {
		l.failed = err
		if l.run != nil {
			l.run.forgets()
		}
		_ = l.conclude(context.Background(), ledger.Batch{}) // those that waited for the batch
		return err
	}
	clear(l.waiting)
	l.waiting, l.size, l.unsaved = l.waiting[:0], 0, false
	return nil
}

// flush writes what waits, with the outcomes of the calls whose results are
// among it: also when the run is stopped meanwhile, since of half a write nobody could
// tell what the log has. The caller holds mu.
func (l *sessionLog) flush(ctx context.Context) error {
	if l.failed != nil {
		return l.failed
	}
	whole := context.Background()
	if err := l.ahead(whole); err != nil {
		return err
	}
	d := drafts.Get().(*draft) //nolint:forcetypeassert // the pool has nothing else
	defer d.reuse()
	b, written, err := l.batch(ctx, d)
	if err != nil {
		return err
	}
	if len(b.Put) == 0 && len(b.Del) == 0 && len(l.outcomes) == 0 {
		return nil
	}
	if n := l.note; n != nil {
		l.note = nil
		err := l.conclude(whole, ledger.Batch{})
		if err == nil {
			err = l.book.write(whole, n, b)
		}
		return l.settle(err, written)
	}
	if len(l.outcomes) == 0 {
		moved, err := l.book.opts.Store.Apply(whole, b.Expect, b.Put, b.Del)
		return l.settle(moveError(moved, err), written)
	}
	return l.settle(l.conclude(whole, b), written)
}

// conclude writes the outcomes, and the batch with the last of them: of no call the log
// says how it ended before the ledger does. The caller holds mu.
func (l *sessionLog) conclude(ctx context.Context, b ledger.Batch) (err error) {
	for i, o := range l.outcomes {
		var failed error
		if last := err == nil && i == len(l.outcomes)-1; last {
			failed = l.book.opts.Ledger.RecordOutcome(ctx, o.seq, o.failure, b)
			err = failed
			if failed != nil && len(b.Put) > 0 && !errors.Is(failed, store.ErrUnknown) { // the ledger may take what the log does not
				failed = l.book.conclude(ctx, l.run, o.seq, o.failure)
			}
		} else {
			failed = l.book.conclude(ctx, l.run, o.seq, o.failure)
			err = cmp.Or(err, failed)
		}
		if failed != nil {
			l.lost = append(l.lost, o.call)
		}
	}
	clear(l.outcomes)
	l.outcomes = l.outcomes[:0]
	return err
}

// maxBatch bounds the bytes of the entries that are written with the record of the
// run, the row of the ledger and what was spent.
const maxBatch = 512 << 10

// ahead writes entries by themselves as long as those that wait are too many for one
// batch with what belongs to the last of them. The caller holds mu.
func (l *sessionLog) ahead(ctx context.Context) error {
	for l.size > maxBatch {
		n, size := 0, 0
		put := make(map[string][]byte)
		for n < len(l.waiting) && (n == 0 || size+len(l.waiting[n].raw) <= maxBatch) {
			put[l.waiting[n].key], size = l.waiting[n].raw, size+len(l.waiting[n].raw)
			n++
		}
		moved, err := l.book.opts.Store.Apply(ctx, map[string]uint64{l.waiting[0].key: 0}, put, nil)
		if err = moveError(moved, err); err != nil {
			return l.settle(err, func(bool) {})
		}
		l.waiting, l.size = slices.Delete(l.waiting, 0, n), l.size-size
	}
	return nil
}

func moveError(moved string, err error) error {
	if err == nil && moved != "" {
		return errors.New("an event is there already: another process writes this session")
	}
	return err
}

// Flush writes what waits.
func (l *sessionLog) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.waits() {
		return l.failed
	}
	return l.flush(ctx)
}

func (l *sessionLog) waits() bool { return len(l.waiting) > 0 || len(l.outcomes) > 0 }
