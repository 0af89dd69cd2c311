package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"sync"

	"usher/runtime"
	"usher/tools"
	"usher/ucan"
	"usher/venue/store"
)

// Spec says what a run is for.
type Spec struct {
	Kind       string
	Op         string // catalogue path
	Input      json.RawMessage
	Agent      string   // whose turn it is
	Session    *Session // that it is a turn of; nil for none
	Background bool     // it may outlive the call that starts it
	Followed   bool     // whoever starts it follows it from the beginning: the first [Run.Events] after 0 misses no piece
	ID         string   // its id; empty is a new one
	Fired      *Fired   // the schedule that starts it; nil for none
	With       *With    // what is stored with its first record; nil for nothing
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
	output    json.RawMessage // of a run that is complete, whole
	err       error           // how it ended
	over      bool            // it has ended, or nobody waits for it any more
	seq       uint64          // of its own log
	entries   []shown         // of its log
	listeners []*listener
	first     *listener // of who starts the run and follows it; nil once that began
	claimed   bool      // an orchestration has its steps here
	saved     string    // status that was stored last
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
			Caller: auth.Actor(), Via: auth.Via(), Parent: auth.Run(),
		},
	}
	if spec.Followed {
		r.first = newListener()
		r.listeners = []*listener{r.first}
	}
	if spec.Kind != Turn {
		r.places = []place{{owner: r.owner}}
		counted := []string{auth.Actor()}
		if spec.Background {
			counted = append(counted, auth.Via()...) // or it would fill all places through those that it asks
		}
		for _, agent := range counted {
			if p := (place{r.owner, agent}); !slices.Contains(r.places, p) {
				r.places = append(r.places, p)
			}
		}
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

// Start starts a run by auth in a goroutine of the book. It goes on when ctx has
// ended, with the values of ctx.
func (b *Book) Start(ctx context.Context, auth tools.Authority, spec Spec, work Work) (*Run, error) {
	whole := context.WithoutCancel(ctx)
	inner, cancelTime := whole, context.CancelFunc(func() {})
	if spec.Background {
		inner, cancelTime = context.WithTimeoutCause(inner, b.opts.MaxTime, fmt.Errorf("%w: %s", errTime, b.opts.MaxTime))
	}
	r, inner, err := b.begin(inner, auth, spec)
	if err != nil {
		cancelTime()
		return nil, err
	}
	go func() {
		defer cancelTime()
		defer r.cancel(nil)
		growStack()
		output, err := r.safely(inner, work)
		_ = r.finish(whole, output, err) // it is logged there
	}()
	return r, nil
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

// Here runs work in the calling goroutine, as a run of its own.
func (b *Book) Here(ctx context.Context, auth tools.Authority, spec Spec, work Work) (json.RawMessage, error) {
	r, inner, err := b.begin(ctx, auth, spec)
	if err != nil {
		return nil, err
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
	inner, cancel := context.WithCancelCause(context.WithValue(ctx, runKeyType{}, r))
	r.cancel = cancel
	if err := b.admit(r); err != nil {
		cancel(nil)
		return nil, nil, err
	}
	if spec.Kind != Turn {
		if err := r.create(ctx, spec.With); err != nil {
			b.leave(r)
			cancel(nil)
			return nil, nil, err
		}
	}
	return r, inner, nil
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
		return r.err
	}
	r.over = true
	stored := r.rec.Status != Started && r.saved == r.rec.Status // with the end of its turn
	if !stored {
		r.rec.end(output, failure)
	}
	r.output, r.err = output, failure
	spent := r.auth.Meter().Spent()
	r.rec.Spent = &spent
	r.mu.Unlock()
	var err error
	if !stored {
		if err = r.save(ctx); err != nil {
			r.book.opts.Logger.ErrorContext(ctx, "run not stored", "run", r.rec.ID, "error", err)
		}
	}
	r.book.leave(r) // first: whoever waited for it finds it no longer executing
	close(r.done)
	return err
}

// save stores the record as it is now.
func (r *Run) save(ctx context.Context) error {
	put := make(map[string][]byte, 2)
	del, err := r.draft(put)
	if err != nil {
		return err
	}
	if _, err := r.book.opts.Store.Apply(ctx, nil, put, del); err != nil {
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
	if _, err := r.draft(put); err != nil {
		return err
	}
	expect := maps.Clone(with.Expect)
	if expect == nil {
		expect = make(map[string]uint64, 1)
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
func (r *Run) draft(put map[string][]byte) (del []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Updated = r.book.opts.Now().UnixMilli()
	if r.key == "" {
		r.key, r.mark = runKey(r.owner, r.rec.ID), openKey(r.owner, r.rec.ID)
	}
	if put[r.key], err = r.rec.encode(); err != nil {
		return nil, err
	}
	if r.rec.Status != Started {
		return []string{r.mark}, nil
	}
	put[r.mark] = []byte{}
	return nil, nil
}

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

// Claim takes the run for the steps of the orchestration op, once: a run of it
// inside the run gets one of its own.
func (r *Run) Claim(op string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claimed || r.rec.Op != op {
		return false
	}
	r.claimed = true
	return true
}

// Step notes how a step of an orchestration stands: as one event, however many
// steps there are.
func (r *Run) Step(ctx context.Context, s runtime.Step) error {
	r.mu.Lock()
	r.seq++
	e := r.entry(shown{r.seq, r.book.opts.Now(), s})
	r.rec.Steps = place1(slices.Clone(r.rec.Steps), s) // records given out keep theirs
	r.publish(shown{e.Seq, e.Time, e.Event})
	r.mu.Unlock()
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%slog/%s/%s/%08x", prefix, r.owner, r.rec.ID, e.Seq)
	if len(raw) > maxRecord {
		s.Input, s.Output = tooLarge(s.Input), tooLarge(s.Output)
		e.Event = s
		if raw, err = json.Marshal(e); err != nil {
			return err
		}
	}
	_, err = r.book.opts.Store.Apply(ctx, nil, map[string][]byte{key: raw}, nil)
	return err
}

// place1 puts a step in its place among the steps.
func place1(steps []runtime.Step, s runtime.Step) []runtime.Step {
	for len(steps) <= s.N {
		steps = append(steps, runtime.Step{N: len(steps)})
	}
	steps[s.N] = s
	return steps
}
