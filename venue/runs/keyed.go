package runs

import (
	"cmp"
	"context"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/spend"
	"usher/ucan"
)

// runOf returns the run of a key, if there is one: as it executes, or as it ended or
// rests.
func (b *Book) runOf(ctx context.Context, auth tools.Authority, key string) (*Run, error) {
	if key == "" {
		return nil, nil
	}
	rec, err := b.OfKey(ctx, auth.Owner(), key)
	if rec == nil || err != nil {
		return nil, err
	}
	if r := b.Live(auth.Owner(), rec.ID); r != nil {
		return r, nil
	}
	if rec.Status == Started && !rec.Inside && !rec.Paused {
		return b.resume(ctx, auth.Owner(), rec)
	}
	return b.idleRun(auth.Owner(), rec), nil
}

// OfKey is the record of the run of a key; nil where there is none.
func (b *Book) OfKey(ctx context.Context, owner ucan.DID, key string) (*Record, error) {
	id, _, err := b.opts.Store.Get(ctx, callKey(owner, key))
	if err != nil || id == nil {
		return nil, err
	}
	rec, err := b.Find(ctx, owner, string(id))
	if fault.Of(err) == fault.NotFound {
		return nil, nil
	}
	return &rec, err
}

// idleRun is a run that is not driven, for whoever asks how it ended.
func (b *Book) idleRun(owner ucan.DID, rec *Record) *Run {
	r := &Run{book: b, owner: owner, rec: *rec, done: make(chan struct{}), over: true, output: rec.Output, cancel: func(error) {}}
	switch rec.Status {
	case Complete:
	case Paused:
		r.err = &pauseError{tools.WaitError{Run: rec.ID, Owner: owner.String()}}
	case Started, Waiting:
		r.err = &tools.WaitError{Run: rec.ID, Owner: owner.String(), Call: cmp.Or(rec.Agent, rec.Op)}
	default:
		r.err = fault.New(cmp.Or(rec.Code, fault.Failed), rec.Error)
		if rec.Budget != nil {
			r.err = &budgetError{rec.Error, rec.Budget}
		}
	}
	close(r.done)
	return r
}

// budgetError is the error of a run that a budget has ended, as its record tells it.
type budgetError struct {
	text string
	*spend.BudgetError
}

func (e *budgetError) Error() string { return e.text }
func (e *budgetError) Unwrap() error { return e.BudgetError }

// here is a run that its caller drives: a new one, or the one of the key. The context
// is nil where that has ended.
func (b *Book) here(ctx context.Context, auth tools.Authority, spec Spec) (*Run, context.Context, error) {
	spec.Inside = true
	if spec.Key == "" {
		return b.begin(ctx, auth, spec)
	}
	rec, err := b.OfKey(ctx, auth.Owner(), spec.Key)
	switch {
	case err != nil:
		return nil, nil, err
	case rec == nil:
		r, inner, err := b.begin(ctx, auth, spec)
		if err != nil {
			if rec, _ = b.OfKey(ctx, auth.Owner(), spec.Key); rec != nil { // it was begun meanwhile
				return b.idleRun(auth.Owner(), rec), nil, nil
			}
		}
		return r, inner, err
	case b.Live(auth.Owner(), rec.ID) != nil || rec.Over():
		return b.idleRun(auth.Owner(), rec), nil, nil
	}
	r, _, _, err := b.restore(ctx, auth.Owner(), rec, true)
	if err != nil {
		return nil, nil, err
	}
	inner, err := b.enter(ctx, r)
	if err == nil {
		b.enters(r)
	}
	return r, inner, err
}
