package runs

import (
	"context"
	"errors"
	"fmt"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
)

// OverError says that a run has ended, so that nothing can be done with it any more.
type OverError struct{ ID, Status string }

func (e *OverError) Error() string { return fmt.Sprintf("run %s is %s: it has ended", e.ID, e.Status) }

// Code is [fault.InTheWay].
func (e *OverError) Code() fault.Code { return fault.InTheWay }

// pauseError is why a run does not go on that somebody paused: whoever waits for it
// rests, too.
type pauseError struct{ wait tools.WaitError }

func (e *pauseError) Error() string {
	return fmt.Sprintf("run %s is paused: grid:jobResume lets it go on", e.wait.Run)
}

func (e *pauseError) Unwrap() error { return &e.wait }

var (
	errInside  = fault.New(fault.InTheWay, "the run is driven by the call that began it: pause the run that it is part of, or cancel it")
	errUnbegun = fault.New(fault.InTheWay, "the turn waits for the one before it in its session: pause that one, or cancel this one")
	errWhole   = fault.New(fault.InTheWay, "the job is one call, and can rest at no point: cancel it, or pause the run that it waits for")
)

// alone calls f with the record of a run as long as nobody drives it; one that is
// driven it returns instead.
func (b *Book) alone(ctx context.Context, owner ucan.DID, id string, f func(rec *Record) error) (driven *Run, err error) {
	for {
		b.mu.Lock()
		r, others := b.live[id], b.resuming[id]
		if r == nil && others == nil {
			b.resuming[id] = make(chan struct{})
		}
		b.mu.Unlock()
		switch {
		case r != nil && r.owner != owner:
			return nil, noRun(id)
		case r != nil:
			return r, nil
		case others == nil:
			defer func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				close(b.resuming[id])
				delete(b.resuming, id)
			}()
			rec, err := b.Find(ctx, owner, id)
			if err != nil {
				return nil, err
			}
			return nil, f(&rec)
		}
		select {
		case <-others:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// waitIdle waits until a run is not driven any more. One that Close has left behind is.
func (b *Book) waitIdle(ctx context.Context, r *Run) error {
	if _, err := r.Wait(ctx); ctx.Err() != nil {
		return err
	}
	if b.Live(r.owner, r.rec.ID) == r {
		return errClosed
	}
	return nil
}

// put stores the record of a run that nobody drives, with the mark of its status.
func (b *Book) put(ctx context.Context, owner ucan.DID, rec *Record) error {
	rec.Updated = b.opts.Now().UnixMilli()
	raw, err := rec.encode()
	if err != nil {
		return err
	}
	mark, hold := openKey(owner, rec.ID), holdKey(owner, rec.ID)
	put, del := map[string][]byte{runKey(owner, rec.ID): raw}, []string{mark, hold}
	switch {
	case rec.Status == Started:
		put[mark], del = []byte{}, []string{hold}
	case !rec.Over():
		put[hold], del = []byte{}, []string{mark}
	}
	b.note(owner, rec, put)
	_, err = b.opts.Store.Apply(ctx, nil, put, del)
	if notes := b.opts.Notes; notes != nil {
		notes.OnStore(owner, rec.ID)
	}
	return err
}

// note adds to a batch what tells of a run that has ended, or waits.
func (b *Book) note(owner ucan.DID, rec *Record, put map[string][]byte) {
	if notes := b.opts.Notes; notes != nil && rec.Status != Started && rec.Status != Paused {
		notes.Draft(owner, rec, put)
	}
}

// Cancel ends a run, with those that it waits for and began, and waits until it has
// ended. One that is cancelled already stays so.
func (b *Book) Cancel(ctx context.Context, owner ucan.DID, id string) error {
	return b.cancel(ctx, owner, id, runtime.ErrStopped)
}

func (b *Book) cancel(ctx context.Context, owner ucan.DID, id string, why error) error {
	for {
		var parts []string
		driven, err := b.alone(ctx, owner, id, func(rec *Record) error {
			if rec.Over() {
				if rec.Status == Cancelled {
					return nil
				}
				return &OverError{rec.ID, rec.Status}
			}
			whole := context.WithoutCancel(ctx)
			for _, waits := range rec.Waits {
				if part, err := b.Find(whole, owner, waits); err == nil && part.Parent == rec.ID && !part.Background && !part.Over() {
					parts = append(parts, part.ID)
				}
			}
			if err := b.lose(whole, owner, rec, why); err != nil {
				return err
			}
			b.follow(whole, b.idleRun(owner, rec))
			return nil
		})
		if err != nil {
			return err
		}
		if driven == nil {
			for _, part := range parts {
				if err := b.cancel(ctx, owner, part, why); err != nil && fault.Of(err) != fault.InTheWay {
					return err
				}
			}
			return nil
		}
		driven.Stop(why)
		if err := b.waitIdle(ctx, driven); err != nil {
			return err
		}
	}
}

// Pause has a run rest as soon as it can, until [Book.Continue]: a turn before it asks
// its model again, an orchestration before its next step. Calls that run come to
// their end first; it does not wait for that. Opening the venue does not have the run
// go on.
func (b *Book) Pause(ctx context.Context, owner ucan.DID, id string) error {
	driven, err := b.alone(ctx, owner, id, func(rec *Record) error {
		switch {
		case rec.Over():
			return &OverError{rec.ID, rec.Status}
		case rec.Status == Paused:
			return nil
		case rec.Inside:
			return errInside
		}
		rec.Status = Paused
		return b.put(ctx, owner, rec)
	})
	if driven == nil || err != nil {
		return err
	}
	return driven.pause(ctx)
}

func (r *Run) pause(ctx context.Context) error {
	r.mu.Lock()
	var err error
	switch {
	case r.over && r.rec.Over():
		err = &OverError{r.rec.ID, r.rec.Status}
	case r.rec.Inside:
		err = errInside
	case r.session != nil && r.rec.From == 0:
		err = errUnbegun
	case r.session == nil && !r.claimed:
		err = errWhole
	}
	if err == nil {
		r.rec.Paused = true
	}
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if r.session != nil {
		r.session.Pause(true)
	}
	if err := r.save(ctx); err != nil && r.book.Live(r.owner, r.rec.ID) == r {
		return err
	}
	return nil
}

// Continue has a run go on that was paused: at once in a book that works, and where
// what it waits for is over. One that is not paused it leaves as it is.
func (b *Book) Continue(ctx context.Context, owner ucan.DID, id string) error {
	for {
		driven, err := b.alone(ctx, owner, id, func(rec *Record) error {
			if rec.Over() {
				return &OverError{rec.ID, rec.Status}
			}
			if rec.Status != Paused && !rec.Paused {
				return nil
			}
			rec.Status, rec.Paused = Started, false
			switch {
			case len(rec.Waits) > 0 && !b.ready(ctx, owner, rec.Waits):
				rec.Status = Waiting
			case b.goesOn():
				if _, err := b.resumeAlone(ctx, owner, rec); !errors.Is(err, ErrTooMany) {
					return err
				}
				rec.Waits = nil
			default:
				rec.Waits = nil
			}
			return b.put(ctx, owner, rec)
		})
		if driven == nil || err != nil {
			return err
		}
		driven.mu.Lock()
		rests := driven.rec.Status == Paused
		driven.rec.Paused = false
		driven.mu.Unlock()
		if !rests {
			if driven.session != nil {
				driven.session.Pause(false)
			}
			if err := driven.save(ctx); err != nil && b.Live(owner, id) == driven {
				return err
			}
			return nil
		}
		if err := b.waitIdle(ctx, driven); err != nil {
			return err
		}
	}
}

// goesOn reports whether runs that rest go on here and now.
func (b *Book) goesOn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.works && !b.closed
}

// Rest waits until nobody drives a run, or ctx ends, and returns its record.
func (b *Book) Rest(ctx context.Context, owner ucan.DID, id string) (Record, error) {
	if r := b.Live(owner, id); r != nil {
		_, _ = r.Wait(ctx) // how it ended is in its record
	}
	return b.Find(context.WithoutCancel(ctx), owner, id)
}
