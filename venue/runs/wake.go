package runs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"

	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store"
)

// follow looks, once a run is left, at what waits for it, or whether what it waits for
// is over by now.
func (b *Book) follow(ctx context.Context, r *Run) {
	rec := r.Record()
	wake, of := rec.Parent, rec.above(r.owner)
	switch rec.Status {
	case Paused:
		return
	case Waiting:
		if wake, of = rec.ID, r.owner; !b.ready(ctx, r.owner, rec.Waits) {
			return
		}
	case Started: // it was let go on just as it came to rest
		if b.goesOn() {
			_, _ = b.resume(ctx, r.owner, &rec) // where it cannot, it has ended and says why
		}
		return
	}
	if wake == "" {
		return
	}
	if err := b.Wake(ctx, of, wake); err != nil && fault.Of(err) != fault.NotFound {
		b.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "a run that waited does not go on", slog.String("run", wake), slog.Any("error", err))
	}
}

// ready reports whether one of what a run waits for is over.
func (b *Book) ready(ctx context.Context, owner ucan.DID, waits []string) bool {
	b.mu.Lock()
	driver := b.driver
	b.mu.Unlock()
	return slices.ContainsFunc(waits, func(id string) bool {
		of, run := whose(owner, id)
		if rec, err := b.Find(ctx, of, run); err == nil {
			return rec.Over()
		}
		if driver == nil {
			return false
		}
		over, err := driver.IsAnswered(ctx, owner, id)
		return err == nil && over
	})
}

// mayGoOn reports whether a run that waits does not any more: what it waits for is over,
// or its agent is.
func (b *Book) mayGoOn(ctx context.Context, owner ucan.DID, rec *Record) (bool, error) {
	if b.ready(ctx, owner, rec.Waits) {
		return true, nil
	}
	if rec.Of == "" {
		return false, nil
	}
	b.mu.Lock()
	driver := b.driver
	b.mu.Unlock()
	return driver.IsGone(ctx, rec.Of)
}

// rests yields the runs of owner's that wait, or are paused.
func (b *Book) rests(ctx context.Context, owner ucan.DID) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		below := holdKey(owner, "")
		for mark, err := range store.Keys(ctx, b.opts.Store, below, "") {
			var rec Record
			if err == nil {
				rec, err = b.Find(ctx, owner, mark[len(below):])
			}
			if fault.Of(err) == fault.NotFound {
				continue
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// WakeAll has those runs of owner's go on that wait for something, which is over.
func (b *Book) WakeAll(ctx context.Context, owner ucan.DID, waits string) error {
	for rec, err := range b.rests(ctx, owner) {
		if err == nil && slices.Contains(rec.Waits, waits) {
			err = b.Wake(ctx, owner, rec.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EndAll ends those runs of owner's that rest and are turns and tasks of a life of an
// agent, for a reason.
func (b *Book) EndAll(ctx context.Context, owner ucan.DID, of tools.Life, why error) error {
	for rec, err := range b.rests(ctx, owner) {
		if err == nil && rec.Of == of && !rec.Over() {
			err = b.Stop(ctx, owner, rec.ID, why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Stop ends a run, and waits for its end. One that has ended stays as it is.
func (b *Book) Stop(ctx context.Context, owner ucan.DID, id string, why error) error {
	err := b.cancel(ctx, owner, id, why)
	if _, ended := errors.AsType[*OverError](err); ended {
		return nil
	}
	return err
}

// waitsAbove reports whether a run goes on with the one that started it: it is driven
// there, or that one waits too.
func (b *Book) waitsAbove(ctx context.Context, owner ucan.DID, rec *Record) bool {
	if rec.Parent == "" || b.Live(owner, rec.ID) != nil {
		return false
	}
	parent, err := b.Find(ctx, rec.above(owner), rec.Parent)
	return rec.Inside || err == nil && parent.Status == Waiting
}

// Resume has a run go on here that rests, whether or not the book works, with those
// that wait for it.
func (b *Book) Resume(ctx context.Context, owner ucan.DID, id string) (*Run, error) {
	for {
		rec, err := b.Find(ctx, owner, id)
		switch {
		case err != nil:
			return nil, err
		case b.waitsAbove(ctx, owner, &rec):
			owner, id = rec.above(owner), rec.Parent
		case rec.Over():
			return nil, fault.New(fault.InvalidInput, fmt.Sprintf("run %s is %s: it does not go on", id, rec.Status))
		default:
			return b.resume(ctx, owner, &rec)
		}
	}
}

// Wake has a run go on that waits, as what it waits for is over: where the venue
// works, and otherwise when it does. A run inside another goes on with that one.
func (b *Book) Wake(ctx context.Context, owner ucan.DID, id string) error {
	for {
		if b.Live(owner, id) != nil {
			return nil // it looks itself when it rests
		}
		rec, err := b.Find(ctx, owner, id)
		switch {
		case err != nil:
			return err
		case rec.Inside && rec.Parent != "":
			owner, id = rec.above(owner), rec.Parent
			continue
		case rec.Status != Waiting:
			return nil
		}
		if b.goesOn() {
			_, err = b.resume(ctx, owner, &rec)
			return err
		}
		_, err = b.alone(ctx, owner, id, func(now *Record) error {
			if now.Status != Waiting || !b.ready(ctx, owner, now.Waits) { // it went on and waits for something else
				return nil
			}
			now.Status, now.Waits = Started, nil
			return b.put(ctx, owner, now)
		})
		return err
	}
}
