package runs_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"usher/caps"
	"usher/venue/runs"
)

// More runs that go on than may execute at once, after the limit was lowered, wait for
// room one after the other: the book opens, and none of them is lost.
func TestRunsThatGoOnWaitForRoom(t *testing.T) {
	h := openHouse(t)
	clerk := h.mint.Agent(h.alice, "clerk", func() caps.Set { return caps.Unrestricted() })
	hang := make(chan struct{})
	defer close(hang)
	var ids []string
	for range 5 {
		ids = append(ids, h.start(t, clerk, until(hang)).ID())
	}
	book, err := runs.Open(t.Context(), runs.Options{
		Store: h.store.Under(""), Ledger: h.ledger, Spending: free{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler), AtOnce: 8, // 2 of one agent
		NewID: func() (string, error) { return "second", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	other := *h
	other.Book = book
	next := heir{&other, make(chan struct{})}
	if err := book.Drive(t.Context(), next, true); err != nil {
		t.Fatalf("the book does not open: %v", err)
	}
	if n := len(book.LiveRuns()); n != 2 {
		t.Errorf("%d execute, want 2", n)
	}
	if err := book.Pause(t.Context(), h.alice, ids[3]); err != nil {
		t.Fatal(err)
	}
	if err := book.Continue(t.Context(), h.alice, ids[3]); err != nil {
		t.Errorf("one that was paused finds no room: %v", err)
	}
	_, err = book.Start(t.Context(), clerk, runs.Spec{Kind: runs.Job, Op: "v/ops/test", Background: true}, until(hang))
	if !errors.Is(err, runs.ErrTooMany) {
		t.Errorf("a new one = %v, want %v", err, runs.ErrTooMany)
	}
	close(next.goOn)
	for _, id := range ids {
		for {
			rec, err := book.Find(t.Context(), h.alice, id)
			if err != nil {
				t.Fatal(err)
			}
			if rec.Over() {
				if rec.Status != runs.Complete {
					t.Errorf("run %s is %s: %s", id, rec.Status, rec.Error)
				}
				break
			}
			for _, r := range book.LiveRuns() {
				_, _ = r.Wait(t.Context())
			}
		}
	}
}
