package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
	"usher/venue/runs"
)

// returner has the runs of a book go on with one work.
type returner struct {
	*house
	work     runs.Work
	answered string        // the approval that was given
	given    *atomic.Bool  // it was, by now
	opened   *atomic.Int64 // times that it was asked for an authority
	resumed  chan string   // ids of runs
}

func (d returner) Open(stored []byte) (tools.Authority, error) {
	d.opened.Add(1)
	return d.mint.Open(stored)
}

func (d returner) Resume(_ context.Context, rec *runs.Record, _ tools.Authority) (runs.Work, *runs.Session, func(), error) {
	d.resumed <- rec.ID
	return d.work, nil, nil, nil
}

func (d returner) IsAnswered(_ context.Context, _ ucan.DID, waits string) (bool, error) {
	return waits == d.answered && d.given.Load(), nil
}

func (returner) IsGone(context.Context, tools.Life) (bool, error) { return false, nil }

// returns opens another book over what the house has, in which so many runs execute at once.
func (h *house) returns(t *testing.T, atOnce int, answered string, work runs.Work) returner {
	t.Helper()
	var ids atomic.Int64
	book, err := runs.Open(t.Context(), runs.Options{
		Store: h.store.Under(""), Ledger: h.ledger, Spending: free{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler), AtOnce: atOnce,
		NewID: func() (string, error) { return fmt.Sprintf("second%08d", ids.Add(1)), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(book.Close)
	other := *h
	other.Book = book
	d := returner{&other, work, answered, new(atomic.Bool), new(atomic.Int64), make(chan string, 100)}
	d.given.Store(true)
	if err := book.Drive(t.Context(), d, true); err != nil {
		t.Fatal(err)
	}
	return d
}

// next is the run that goes on next.
func (d returner) next(t *testing.T) string {
	t.Helper()
	select {
	case id := <-d.resumed:
		return id
	case <-time.After(20 * time.Second):
		t.Fatal("no run goes on")
		return ""
	}
}

func waits(approval string) runs.Work {
	return func(context.Context, *runs.Run) (json.RawMessage, error) {
		return nil, &tools.WaitError{Approval: approval, Call: "test"}
	}
}

// What a run began that waits for something else goes on itself when there is room.
func TestAChildThatFoundNoRoomGoesOn(t *testing.T) {
	h := openHouse(t)
	hang := make(chan struct{})
	defer close(hang)
	d := h.returns(t, 2, "the child's", waits("the parent's"))
	d.given.Store(false)
	alice := h.mint.User(h.alice)
	job := runs.Spec{Kind: runs.Job, Op: "v/ops/test", Background: true}
	var child *runs.Run
	parent := d.start(t, alice, func(ctx context.Context, r *runs.Run) (_ json.RawMessage, err error) {
		if child, err = d.Start(ctx, r.Authority(), job, waits("the child's")); err != nil {
			return nil, err
		}
		_, _ = child.Wait(ctx)
		return waits("the parent's")(ctx, r)
	})
	_, _ = parent.Wait(t.Context())
	first := make(chan struct{})
	d.start(t, alice, until(first))
	d.start(t, alice, until(hang))
	d.given.Store(true)
	if err := d.WakeAll(t.Context(), h.alice, "the child's"); err != nil {
		t.Fatal(err)
	}
	close(first)
	if id := d.next(t); id != child.ID() {
		t.Errorf("%s goes on, want %s, which %s began", id, child.ID(), parent.ID())
	}
}

// The end of a run has nothing looked at for which there is no room yet.
func TestWhatHasNoRoomIsLeftAlone(t *testing.T) {
	h := openHouse(t)
	hang := make(chan struct{})
	defer close(hang)
	clerk := h.mint.Agent(h.alice, "clerk", func() caps.Set { return caps.Unrestricted() })
	for range 5 {
		h.start(t, clerk, until(hang))
	}
	d := h.returns(t, 8, "", until(hang)) // 2 of one agent
	before := d.opened.Load()
	_, err := d.Here(t.Context(), h.mint.User(h.alice), runs.Spec{Kind: runs.Job, Op: "v/ops/test"}, func(context.Context, *runs.Run) (json.RawMessage, error) { return nil, nil })
	if n := d.opened.Load() - before; err != nil || n != 0 {
		t.Errorf("%d were looked at, want none; %v", n, err)
	}
}

// Who watches a run is not told of what others begin for which its end made room.
func TestWhoWatchesIsToldOfNoOther(t *testing.T) {
	h := openHouse(t)
	hang, second := make(chan struct{}), make(chan struct{})
	defer close(hang)
	alice := h.mint.User(h.alice)
	job := runs.Spec{Kind: runs.Job, Op: "v/ops/test"}
	done := make(chan error, 1)
	var d returner
	var filler *runs.Run
	d = h.returns(t, 3, "", func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		close(second)
		_, _ = filler.Wait(ctx)
		_, err := d.Start(ctx, r.Authority(), job, until(hang))
		done <- err
		return nil, err
	})
	waiting := h.start(t, alice, until(hang))
	d.start(t, alice, until(hang))
	filler = d.start(t, alice, until(second))
	var told atomic.Int64
	watching := runs.WithWatch(runs.WithWatchBelow(t.Context(), func(_, _ *runs.Run) { told.Add(1) }), func(*runs.Run) { told.Add(1) })
	_, err := d.Here(watching, alice, job, func(ctx context.Context, _ *runs.Run) (json.RawMessage, error) {
		_, err := d.Book.Resume(ctx, h.alice, waiting.ID())
		return nil, err
	})
	if id := d.next(t); err != nil || id != waiting.ID() {
		t.Fatalf("%s goes on, %v", id, err)
	}
	if err := <-done; err != nil || told.Load() != 0 {
		t.Errorf("told of %d runs, want none; %v", told.Load(), err)
	}
}
