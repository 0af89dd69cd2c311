package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"usher/tools/fault"
	"usher/venue/runs"
)

// Nobody waits for the end of a run that a closed book has left behind.
func TestNobodyWaitsForWhatCloseLeftBehind(t *testing.T) {
	h := openHouse(t)
	ids := 0
	book, err := runs.Open(t.Context(), runs.Options{
		Store: h.store.Under(""), Ledger: h.ledger, Spending: free{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Grace: time.Millisecond,
		NewID: func() (string, error) { ids++; return fmt.Sprintf("%08d", ids), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	hang, ended := make(chan struct{}), make(chan struct{})
	r, err := book.Start(t.Context(), h.mint.User(h.alice), runs.Spec{Kind: runs.Job, Op: "v/ops/test"}, func(context.Context, *runs.Run) (json.RawMessage, error) {
		<-hang
		close(ended)
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	book.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := book.Cancel(ctx, h.alice, r.ID()); fault.Of(err) != fault.Stopped || ctx.Err() != nil {
		t.Errorf("Cancel = %v, %v; want that the book is closed", err, ctx.Err())
	}
	close(hang)
	<-ended
}
