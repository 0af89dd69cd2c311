package runs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue/ledger"
)

// DefaultGrace is how long Close waits for what it has stopped.
const DefaultGrace = 10 * time.Second

// errHeld says why a call has an unknown outcome that Close did not wait for.
var errHeld = fault.New(fault.Unknown, "the venue closed while the call ran, and it did not stop: whether it took effect is unknown")

// work is what a book has to wait for before it closes, beside its runs. It is
// guarded by Book.mu.
type work struct {
	direct   map[uint64]context.CancelCauseFunc // calls that no run makes
	last     uint64                             // number of one of those
	deciding int                                // decisions that are being written
	waking   int                                // runs that have ended and tell those that wait for them
	calls    map[uint64]bool                    // that may run, by their decision: whether their outcome is being written
	idle     chan struct{}                      // of a book that closes: closed when there is nothing more
}

// Call returns a context for a call that no run makes, and what to call when it has
// ended. The context ends when the book closes; a closed one lets nobody call.
func (b *Book) Call(ctx context.Context) (_ context.Context, end func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		cancel(nil)
		return nil, nil, errClosed
	}
	b.work.last++
	n := b.work.last
	b.work.direct[n] = cancel
	return ctx, func() {
		cancel(nil)
		b.noteEnd(func(w *work) { delete(w.direct, n) })
	}, nil
}

// open is an error once the book is closed.
func (b *Book) open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed
	}
	return nil
}

// noteEnd notes that something has ended.
func (b *Book) noteEnd(note func(w *work)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	note(&b.work)
	b.settle()
}

// settle tells Close when there is nothing more to wait for. The caller holds mu.
func (b *Book) settle() {
	w := &b.work
	if w.idle != nil && len(b.live) == 0 && len(w.direct) == 0 && len(w.calls) == 0 && w.deciding == 0 && w.waking == 0 {
		close(w.idle)
		w.idle = nil
	}
}

// decide has a decision written, unless the book is closed and a call would run
// by it.
func (b *Book) decide(ctx context.Context, e *tools.Entry) (seq uint64, err error) {
	b.mu.Lock()
	if b.closed && e.Verdict == tools.Allowed {
		err := b.stop()
		b.mu.Unlock()
		return 0, err
	}
	b.work.deciding++
	b.mu.Unlock()
	defer b.noteEnd(func(w *work) {
		w.deciding--
		if err == nil && e.Verdict == tools.Allowed {
			w.calls[seq] = false
		}
	})
	return b.writeDecision(ctx, e)
}

// RecordOutcome writes the outcome of a call, unless Close has written that it is
// unknown.
func (b *Book) RecordOutcome(ctx context.Context, seq uint64, failure error) error {
	b.mu.Lock()
	_, waits := b.work.calls[seq]
	if waits {
		b.work.calls[seq] = true
	}
	b.mu.Unlock()
	if !waits {
		return errClosed
	}
	defer b.noteEnd(func(w *work) { delete(w.calls, seq) })
	return b.writeOutcome(ctx, seq, failure)
}

// stop is why what runs ends as the book closes: runs go on when a book that works
// is opened again. The caller holds mu.
func (b *Book) stop() error {
	if b.works {
		return new(runtime.RestError)
	}
	return errClosed
}

// Close lets nothing more begin, stops all that runs, and waits until its end, what
// it spent and the outcomes of its calls are written. In a book that works the calls
// that run get half of the grace first, and runs rest. What does not stop within the
// grace is left behind, its calls with an unknown outcome in the ledger.
func (b *Book) Close() {
	idle := make(chan struct{})
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	b.closed, b.work.idle = true, idle
	works, live := b.works, slices.Collect(maps.Values(b.live))
	for _, cancel := range b.work.direct {
		cancel(ErrInterrupted)
	}
	b.settle()
	b.mu.Unlock()
	grace := time.NewTimer(b.opts.Grace)
	defer grace.Stop()
	cause := ErrInterrupted
	if works {
		cause = new(runtime.RestError)
		b.park(live, idle)
	}
	for _, r := range live {
		r.cancel(cause)
	}
	select {
	case <-idle:
	case <-grace.C:
		b.abandon(context.Background(), works)
	}
}

// park has runs rest, as far as they come to it in half of the grace.
func (b *Book) park(live []*Run, idle <-chan struct{}) {
	for _, r := range live {
		if r.session != nil {
			r.session.Park()
		}
	}
	half := time.NewTimer(b.opts.Grace / 2)
	defer half.Stop()
	select {
	case <-idle:
	case <-half.C:
	}
}

// abandon writes the end of what does not stop.
func (b *Book) abandon(ctx context.Context, works bool) {
	b.mu.Lock()
	held := slices.Collect(maps.Values(b.live))
	var calls []uint64
	for seq, ends := range b.work.calls {
		if !ends {
			calls = append(calls, seq)
			delete(b.work.calls, seq)
		}
	}
	b.mu.Unlock()
	var failed error
	for _, r := range held {
		failed = errors.Join(failed, r.abandon(ctx, works))
	}
	slices.Sort(calls)
	for _, seq := range calls {
		failed = errors.Join(failed, b.opts.Ledger.RecordOutcome(ctx, seq, errHeld, ledger.Batch{}))
	}
	b.opts.Logger.ErrorContext(ctx, "the venue closed while calls did not stop: what they did is unknown", "runs", len(held), "calls", len(calls))
	if failed != nil {
		b.opts.Logger.ErrorContext(ctx, "the end of what did not stop is not stored", "error", failed)
	}
}

// abandon ends the run for everybody but the goroutine that drives it; one that can go
// on rests.
func (r *Run) abandon(ctx context.Context, works bool) (err error) {
	r.mu.Lock()
	over := r.over
	r.over = true
	r.mu.Unlock()
	if over {
		return nil
	}
	defer close(r.done)
	if works && r.session != nil {
		r.session.log.end()
		r.err = new(runtime.RestError)
		return nil
	}
	why := ErrInterrupted
	if s := r.session; s != nil {
		why = cut(s)
		err = s.Interrupt(context.WithValue(ctx, runKeyType{}, r), r.book.opts.Now())
		s.log.end()
	}
	r.mu.Lock()
	stored := r.rec.Status != Started && r.saved == r.rec.Status
	if !stored {
		r.rec.end(nil, why)
	}
	r.err = why
	r.mu.Unlock()
	if !stored {
		err = errors.Join(err, r.save(ctx))
	}
	return err
}

// end lets nothing more into the log.
func (l *sessionLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = errClosed
	}
}
