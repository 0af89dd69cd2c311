package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"sync"

	"usher/tools"
	"usher/tools/spend"
	"usher/ucan"
)

// Spec says what a run is for.
type Spec struct {
	Kind       string
	Op         string // catalogue path
	Ref        string // what a job calls it by; empty: Op
	Key        string // of the call: a run of the same key is the same run; empty: of none
	Input      json.RawMessage
	Schema     json.RawMessage // of the answer to a task; nil is any
	Limits     *spend.Limits   // of what a task may spend; nil for none
	Agent      string          // whose turn it is
	Session    *Session        // that it is a turn of; nil for none
	Inside     bool            // the call that starts it drives it
	Background bool            // it may outlive the call that starts it
	Followed   bool            // whoever starts it follows it from the beginning: the first [Run.Events] after 0 misses no piece
	ID         string          // its id; empty is a new one
	Fired      *Firing         // the schedule that starts it; nil for none
	With       *With           // what is stored with its first record; nil for nothing
}

// With is what goes into one batch with the first record of a run: either all of it is
// stored, and the run begins, or nothing. Keys are those of the whole store.
type With struct {
	Expect map[string]uint64 // revisions; 0: the key must not exist
	Put    map[string][]byte
	Del    []string
}

// Work is what a run does. Its context ends when the run is stopped.
type Work func(ctx context.Context, r *Run) (json.RawMessage, error)

// Run is a piece of work while it executes, and afterwards for whoever still
// has it.
type Run struct {
	book    *Book
	owner   ucan.DID
	auth    tools.Authority // of what the run starts
	session *Session
	places  []place
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when it has ended

	mu        sync.Mutex
	rec       Record
	key, mark string          // where it is stored, and marked as open
	claim     uint64          // revision of the mark, which is this process's; 0 until it is known
	output    json.RawMessage // of a run that is complete, whole
	err       error           // how it ended
	over      bool            // it has ended, or nobody waits for it any more
	seq       uint64          // of its own log
	entries   []eventView     // of its log
	listeners []*listener
	first     *listener // of who starts the run and follows it; nil once that began
	claimed   bool      // an orchestration has its steps here
	saved     string    // status that was stored last
	fresh     bool      // it has a key, under which it is not stored yet
	again     bool      // it was driven before
	wentOn    uint64
}

type runKeyType struct{}

// From returns the run that ctx belongs to, or nil. What is done in a run is
// recorded with it; a context gives no authority.
func From(ctx context.Context) *Run {
	r, _ := ctx.Value(runKeyType{}).(*Run)
	return r
}

// make prepares a run that auth starts.
func (b *Book) make(ctx context.Context, auth tools.Authority, spec Spec) (*Run, error) {
	id := spec.ID
	if id == "" {
		var err error
		if id, err = b.opts.NewID(); err != nil {
			return nil, err
		}
	}
	now := b.opts.Now().UnixMilli()
	r := &Run{
		book: b, owner: auth.Owner(), auth: auth.InRun(id), session: spec.Session, done: make(chan struct{}),
		rec: Record{
			ID: id, Kind: spec.Kind, Op: spec.Op, Status: Started, Created: now, Updated: now, Agent: spec.Agent, Input: spec.Input, Fired: spec.Fired,
			Caller: auth.Actor(), Via: auth.Via(), Parent: auth.Run(), Key: spec.Key, Schema: spec.Schema, Limits: spec.Limits, Inside: spec.Inside, Background: spec.Background,
		},
	}
	if p := From(ctx); p != nil && p.ID() == r.rec.Parent && p.owner != r.owner {
		r.rec.Above = p.owner
	}
	if spec.Kind == Task && r.rec.Parent == "" {
		r.rec.Message = messageOf(ctx)
	}
	r.fresh = spec.Key != ""
	if spec.Ref != spec.Op {
		r.rec.Ref = spec.Ref
	}
	if spec.Followed {
		r.first = newListener()
		r.listeners = []*listener{r.first}
	}
	if spec.Kind != Turn {
		r.takesPlaces()
		if err := auth.Meter().Charge(ctx, tools.Runs, 1); err != nil {
			return nil, err
		}
	}
	if s := spec.Session; s != nil {
		r.rec.Session, r.rec.Of = s.ID(), s.log.of
	}
	var err error
	if r.rec.Authority, err = r.auth.MarshalJSON(); err != nil {
		return nil, err
	}
	return r, nil
}

// takesPlaces counts the run for whoever it is of, and in the background for those
// on whose behalf it is: one would else fill all places through those that it asks.
func (r *Run) takesPlaces() {
	r.places = []place{{owner: r.owner}}
	counted := []string{r.rec.Caller}
	if r.rec.Background {
		counted = append(counted, r.rec.Via...)
	}
	for _, agent := range counted {
		if p := (place{r.owner, agent}); !slices.Contains(r.places, p) {
			r.places = append(r.places, p)
		}
	}
}

// Start starts a run by auth in a goroutine of the book. It goes on when ctx has
// ended, with the values of ctx. Where there is a run of the key already, it returns
// that one.
func (b *Book) Start(ctx context.Context, auth tools.Authority, spec Spec, work Work) (*Run, error) {
	if r, err := b.runOf(ctx, auth, spec.Key); r != nil || err != nil {
		return r, err
	}
	whole, begun := watcherOf(context.WithoutCancel(ctx))
	spec.Followed = spec.Followed || begun != nil
	timed, cancelTime := b.withTime(whole, spec.Background)
	r, inner, err := b.begin(timed, auth, spec)
	if err != nil {
		cancelTime()
		if other, _ := b.runOf(ctx, auth, spec.Key); other != nil { // it was begun meanwhile
			return other, nil
		}
		return nil, err
	}
	if begun != nil {
		begun(r)
	}
	go r.drive(whole, inner, cancelTime, work)
	return r, nil
}

// withTime bounds the time of a run in the background.
func (b *Book) withTime(ctx context.Context, background bool) (context.Context, context.CancelFunc) {
	if !background {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, b.opts.MaxTime, fmt.Errorf("%w: %s", errTime, b.opts.MaxTime))
}

// drive runs work to the end of the run, in a goroutine of its own.
func (r *Run) drive(whole, inner context.Context, cancelTime context.CancelFunc, work Work) {
	defer cancelTime()
	defer r.cancel(nil)
	growStack()
	output, err := r.safely(inner, work)
	_ = r.finish(whole, output, err) // it is logged there
}

// growStack has the goroutine's stack made as large at once as a turn needs, which
// would else be copied several times on the way down.
//
//go:noinline
func growStack() {
	var room [12 << 10]byte
	room[len(room)-1] = 1
	goruntime.KeepAlive(&room)
}

// Here runs work in the calling goroutine, as a run of its own; one of the key that
// has not ended goes on there.
func (b *Book) Here(ctx context.Context, auth tools.Authority, spec Spec, work Work) (json.RawMessage, error) {
	r, inner, err := b.here(ctx, auth, spec)
	if err != nil {
		return nil, err
	}
	if inner == nil { // it has ended
		return r.Wait(ctx)
	}
	defer r.cancel(nil)
	output, err := r.safely(inner, work)
	return output, errors.Join(err, r.finish(context.WithoutCancel(ctx), output, err))
}

// begin takes the run in and stores it, unless it is a turn: that is stored with
// its first event. What the run does goes by the context that it returns.
func (b *Book) begin(ctx context.Context, auth tools.Authority, spec Spec) (*Run, context.Context, error) {
	r, err := b.make(ctx, auth, spec)
	if err != nil {
		return nil, nil, err
	}
	inner, err := b.enter(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if spec.Kind != Turn {
		if err := r.create(ctx, spec.With); err != nil {
			b.leave(r)
			r.cancel(nil)
			b.refill(context.Background(), r.owner)
			return nil, nil, err
		}
	}
	r.tellBelow(ctx)
	b.enters(r)
	return r, inner, nil
}

// Authority is that of what the run starts.
func (r *Run) Authority() tools.Authority { return r.auth }

// enter takes the run in.
func (b *Book) enter(ctx context.Context, r *Run) (context.Context, error) {
	inner, cancel := context.WithCancelCause(context.WithValue(ctx, runKeyType{}, r))
	r.cancel = cancel
	if err := b.admit(r); err != nil {
		cancel(nil)
		return nil, err
	}
	return inner, nil
}

// safely runs work and makes an error of a panic: a model or a tool of somebody
// else's must not take the venue with it.
func (r *Run) safely(ctx context.Context, work Work) (output json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.book.opts.Logger.ErrorContext(ctx, "run panicked", "run", r.rec.ID, "panic", p, "stack", string(debug.Stack()))
			output, err = nil, fmt.Errorf("the job failed inside (panic: %v)", p)
		}
	}()
	if r.session != nil {
		release, err := r.session.log.enter(ctx, r)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return work(ctx, r)
}

// finish stores how the run ended and lets everybody know.
func (r *Run) finish(ctx context.Context, output json.RawMessage, failure error) error {
	r.mu.Lock()
	if r.over { // Close did not wait
		r.mu.Unlock()
		r.book.leave(r)
		<-r.done
		return r.err
	}
	r.over = true
	waits, parked := r.rests(failure)
	if r.rec.Paused && (parked || waits != nil) {
		r.rec.Status, r.rec.Waits, r.rec.Paused = Paused, waits, false
	}
	paused := r.rec.Status == Paused
	stored := parked && !paused || r.rec.Status != Started && r.saved == r.rec.Status // as one that goes on, or with the end of its turn
	switch {
	case paused:
		failure = &pauseError{tools.WaitError{Run: r.rec.ID, Owner: r.owner.String()}}
	case waits != nil:
		r.rec.Status, r.rec.Waits = Waiting, waits
		failure = &restsError{&tools.WaitError{Run: r.rec.ID, Owner: r.owner.String(), Call: cmp.Or(r.rec.Agent, r.rec.Op)}, failure}
	case !stored:
		r.rec.end(output, failure)
	}
	r.output, r.err = output, failure
	spent := r.auth.Meter().Amounts()
	r.rec.Spent = &spent
	r.mu.Unlock()
	var err error
	if !stored {
		if err = r.save(ctx); err != nil {
			r.book.opts.Logger.ErrorContext(ctx, "run not stored", "run", r.rec.ID, "error", err)
		}
	}
	if notes := r.book.opts.Notes; notes != nil {
		notes.OnStore(r.owner, r.rec.ID)
	}
	r.book.noteEnd(func(w *work) { w.waking++ })
	r.book.leave(r) // first: whoever waited for it finds it no longer executing
	close(r.done)
	r.book.follow(ctx, r)
	r.book.refill(context.Background(), r.owner) // whose budgets and listeners are their own
	r.book.noteEnd(func(w *work) { w.waking-- })
	return err
}

// Owner is whose the run is.
func (r *Run) Owner() ucan.DID { return r.owner }

// ID names the run.
func (r *Run) ID() string { return r.rec.ID }

// Record returns the run's record as it is now.
func (r *Run) Record() Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rec
}

// Stop asks the run to end, for a reason. It does not wait.
func (r *Run) Stop(cause error) { r.cancel(cause) }

// Wait returns the output of the run when it has ended, or the error that it
// failed with, or the cause why ctx ended first.
func (r *Run) Wait(ctx context.Context) (json.RawMessage, error) {
	select {
	case <-r.done:
		return r.output, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
