package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store"
)

// Driver makes runs go on that somebody else began, or that rested.
type Driver interface {
	// Open returns the authority that a record has.
	Open(stored []byte) (tools.Authority, error)
	// Resume returns the work of a run from where its log ends, with the session that it
	// is a turn of. auth is that of the run. undo is called instead of the work where
	// that cannot begin; it may be nil.
	Resume(ctx context.Context, rec *Record, auth tools.Authority) (work Work, s *Session, undo func(), err error)
	// IsAnswered reports whether a request for an approval needs nobody any more, or an
	// agent, see [OfAgent], is not suspended any more.
	IsAnswered(ctx context.Context, owner ucan.DID, waits string) (bool, error)
	// IsGone reports whether a life of an agent has ended.
	IsGone(ctx context.Context, of tools.Life) (bool, error)
}

// Drive has runs go on. In a book that works, all that executed when the venue
// was left do so at once, and those that wait do when that is over; in another one
// they rest.
func (b *Book) Drive(ctx context.Context, d Driver, works bool) error {
	b.mu.Lock()
	b.driver, b.works = d, works
	b.mu.Unlock()
	if !works {
		return nil
	}
	const marks = prefix + "open/"
	for mark, err := range store.Keys(ctx, b.opts.Store, marks, "") {
		if err != nil {
			return fmt.Errorf("go on with runs: %w", err)
		}
		if err := b.goOn(ctx, strings.TrimPrefix(mark, marks)); err != nil {
			return fmt.Errorf("go on with runs: %w", err)
		}
	}
	const holds = prefix + "hold/"
	for mark, err := range store.Keys(ctx, b.opts.Store, holds, "") {
		if err == nil {
			err = b.wakeReady(ctx, strings.TrimPrefix(mark, holds))
		}
		if err != nil {
			return fmt.Errorf("go on with runs: %w", err)
		}
	}
	return nil
}

// wakeReady has a run go on where what it waits for was over before the venue was left.
// of is "<owner>/<id>".
func (b *Book) wakeReady(ctx context.Context, of string) error {
	owner, id, _ := strings.Cut(of, "/")
	did, err := ucan.ParseDID(owner)
	if err != nil {
		return err
	}
	rec, err := b.Find(ctx, did, id)
	if fault.Of(err) == fault.NotFound {
		_, err = b.opts.Store.Apply(ctx, nil, nil, []string{holdKey(did, id)})
		return err
	}
	if err != nil || rec.Status != Waiting {
		return err
	}
	if goes, err := b.mayGoOn(ctx, did, &rec); !goes || err != nil {
		return err
	}
	return b.Wake(ctx, did, id)
}

// goOn goes on with a run by its mark. of is "<owner>/<id>". What is driven by the
// call that started it goes on with that, or has ended where nobody will make it again.
func (b *Book) goOn(ctx context.Context, of string) error {
	raw, _, err := b.opts.Store.Get(ctx, prefix+"run/"+of)
	if err != nil {
		return err
	}
	owner, id, _ := strings.Cut(of, "/")
	did, err := ucan.ParseDID(owner)
	if err != nil {
		return err
	}
	if raw == nil {
		_, err = b.opts.Store.Apply(ctx, nil, nil, []string{openKey(did, id)})
		return err
	}
	var rec Record
	if err := json.Unmarshal(raw, &rec); err != nil {
		return fmt.Errorf("read run %s: %w", of, err)
	}
	switch {
	case rec.Inside:
	case rec.Paused:
		rec.Status = Paused
		return b.put(ctx, did, &rec)
	default:
		_, err = b.resume(ctx, did, &rec)
		return err
	}
	if rec.Key != "" && rec.Parent != "" {
		if parent, err := b.Find(ctx, rec.above(did), rec.Parent); err == nil && !parent.Over() {
			return nil
		}
	}
	return b.lose(ctx, did, &rec, ErrInterrupted)
}

// Over reports whether the run has ended.
func (r *Record) Over() bool {
	return r.Status != Started && r.Status != Waiting && r.Status != Paused
}

// holds reports whether the run rests until somebody lets it go on.
func (r *Record) holds() bool { return r.Status == Paused || r.Paused }

// lose ends a run that nobody drives, with its turn.
func (b *Book) lose(ctx context.Context, owner ucan.DID, rec *Record, why error) error {
	if rec.Session != "" {
		if s, release, err := b.sessions.Open(ctx, rec.Of, rec.Session, true); err == nil {
			if run, rests := s.Rest(); rests && run == rec.ID {
				if errors.Is(why, ErrInterrupted) {
					why = cut(s)
				}
				err = s.Cut(ctx, b.opts.Now(), why.Error(), fault.Of(why))
			}
			if release(); err != nil {
				return err
			}
		} else if fault.Of(err) != fault.NotFound { // removed since
			return err
		}
	}
	if steps, err := b.steps(ctx, owner, rec.ID); err != nil {
		return err
	} else if len(steps) > 0 {
		rec.Steps = steps
	}
	rec.end(nil, why)
	if errors.Is(why, ErrInterrupted) {
		rec.Status = Failed
	}
	return b.put(ctx, owner, rec)
}

// cut is why a turn ended that the venue left in its middle: which calls it never
// started, and of which the effect is unknown.
func cut(s *Session) error { return &cutError{s.CutEnd().Error} }

type cutError struct{ text string }

func (e *cutError) Error() string { return e.text }
func (e *cutError) Unwrap() error { return ErrInterrupted }

// Code is [fault.Interrupted].
func (e *cutError) Code() fault.Code { return fault.Interrupted }

// Settle ends the turn that rests in a session, before another begins: unless it
// waits for somebody, or is driven.
func (b *Book) Settle(ctx context.Context, owner ucan.DID, s *Session) error {
	id, rests := s.Rest()
	if !rests {
		return nil
	}
	copied := func(rec *Record) bool { return rec.Of != s.log.of || rec.Session != s.ID() }
	driven, err := b.alone(ctx, owner, id, func(rec *Record) error {
		run, rests := s.Rest()
		switch {
		case copied(rec):
			return s.Cut(ctx, b.opts.Now(), "", "")
		case !rests || run != id || rec.Status == Waiting || rec.holds():
			return nil // the turn says what is in its way
		}
		return b.lose(context.WithoutCancel(ctx), owner, rec, ErrInterrupted)
	})
	if fault.Of(err) == fault.NotFound || driven != nil && copied(&driven.rec) {
		return s.Cut(ctx, b.opts.Now(), "", "")
	}
	return err
}

// resume drives a run from where its log ends, once, however many ask for it. One that
// cannot go on has ended, and says why.
func (b *Book) resume(ctx context.Context, owner ucan.DID, rec *Record) (r *Run, err error) {
	driven, err := b.alone(ctx, owner, rec.ID, func(now *Record) error {
		if now.Over() || now.holds() {
			r = b.idleRun(owner, now)
			return nil
		}
		if r, err = b.resumeAlone(ctx, owner, now); errors.Is(err, ErrTooMany) { // it goes on when there is room
			r, err = b.idleRun(owner, now), nil
		}
		return err
	})
	return cmp.Or(driven, r), err
}

// resumeAlone is resume for who has the run alone. Where there is no room, the error is
// [ErrTooMany], and the run goes on when there is.
func (b *Book) resumeAlone(ctx context.Context, owner ucan.DID, rec *Record) (*Run, error) {
	whole := withoutWatch(ctx)
	r, work, undo, err := b.restore(ctx, owner, rec, false)
	if wait, rests := errors.AsType[*tools.WaitError](err); rests {
		if err := b.await(whole, owner, rec, wait); err != nil || !b.ready(whole, owner, rec.Waits) {
			return b.idleRun(owner, rec), err
		}
		return b.resumeAlone(ctx, owner, rec) // what it waited for came meanwhile
	}
	if err != nil {
		if errors.Is(err, errTaken) || errors.Is(err, ErrTooMany) || ctx.Err() != nil {
			return nil, err
		}
		b.opts.Logger.WarnContext(ctx, "a run cannot go on", "run", rec.ID, "error", err)
		if err := b.lose(whole, owner, rec, err); err != nil {
			return nil, err
		}
		return b.idleRun(owner, rec), nil
	}
	timed, cancelTime := b.withTime(whole, rec.Background)
	inner, err := b.enter(timed, r)
	if err != nil {
		cancelTime()
		undo()
		return nil, err
	}
	b.enters(r)
	go r.drive(whole, inner, cancelTime, work)
	return r, nil
}

// await notes for what a run waits that cannot go on yet.
func (b *Book) await(ctx context.Context, owner ucan.DID, rec *Record, wait *tools.WaitError) error {
	rec.Status, rec.Waits = Waiting, []string{waitsOn(owner, wait)}
	return b.put(ctx, owner, rec)
}

// restore takes a run over: from then on no other process changes it. One that goes on
// here, with the call that made it, has its work and its place from that.
func (b *Book) restore(ctx context.Context, owner ucan.DID, rec *Record, here bool) (r *Run, work Work, undo func(), err error) {
	undo = func() {}
	b.mu.Lock()
	driver := b.driver
	b.mu.Unlock()
	if driver == nil {
		return nil, nil, undo, errors.New("nobody drives runs here")
	}
	auth, err := driver.Open(rec.Authority)
	if err != nil {
		return nil, nil, undo, err
	}
	r = &Run{
		book: b, owner: owner, auth: auth, done: make(chan struct{}), rec: *rec, again: true,
		key: runKey(owner, rec.ID), mark: openKey(owner, rec.ID),
	}
	if rec.Kind != Turn && !here {
		r.takesPlaces()
	}
	if err := b.room(r); err != nil {
		return nil, nil, undo, err
	}
	if rec.Session == "" {
		if err := r.reads(ctx); err != nil {
			return nil, nil, undo, err
		}
	}
	if !here {
		var done func()
		if work, r.session, done, err = driver.Resume(ctx, &r.rec, auth); err != nil {
			return nil, nil, undo, err
		}
		if done != nil {
			undo = done
		}
	}
	if r.session == nil {
		auth.Meter().AtLeast(r.usage())
	}
	r.rec.Status, r.rec.Waits, r.rec.Paused = Started, nil, false
	if err := r.take(ctx); err != nil {
		undo()
		return nil, nil, undo, err
	}
	r.saved = Started
	return r, work, undo, nil
}

// usage is what a run outside of sessions has spent of the limits of its call tree, as its
// log and its record say.
func (r *Run) usage() (spent tools.Amounts) {
	if r.rec.Spent != nil {
		spent = *r.rec.Spent
	}
	began := int64(0)
	for i := range r.rec.Steps {
		if r.rec.Steps[i].Status != "PENDING" && r.rec.Steps[i].Status != "" {
			began++
		}
	}
	spent.Calls = max(spent.Calls, began)
	return spent
}
