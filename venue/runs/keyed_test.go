package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"usher/venue/runs"
)

// Of two calls of one key that come at once one begins the run, and the other gets it.
func TestTwoCallsOfOneKeyAtOnce(t *testing.T) {
	for name, begin := range map[string]func(ctx context.Context, h *house, spec runs.Spec, work runs.Work) (json.RawMessage, error){
		"started": func(ctx context.Context, h *house, spec runs.Spec, work runs.Work) (json.RawMessage, error) {
			r, err := h.Start(ctx, h.mint.User(h.alice), spec, work)
			if err != nil {
				return nil, err
			}
			return r.Wait(ctx)
		},
		"driven by the call": func(ctx context.Context, h *house, spec runs.Spec, work runs.Work) (json.RawMessage, error) {
			return h.Here(ctx, h.mint.User(h.alice), spec, work)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := openHouse(t)
			worked := 0
			work := func(context.Context, *runs.Run) (json.RawMessage, error) {
				worked++
				return json.RawMessage(`"done"`), nil
			}
			spec := runs.Spec{Kind: runs.Job, Op: "v/ops/test", Key: "once"}
			ids := 0
			var first json.RawMessage
			var err error
			var book *runs.Book
			book, err = runs.Open(t.Context(), runs.Options{
				Store: h.store.Under(""), Ledger: h.ledger, Spending: free{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
				NewID: func() (string, error) {
					if ids++; ids == 2 { // between the look for a run of the key and its first record
						if first, err = begin(t.Context(), h, spec, work); err != nil {
							t.Error(err)
						}
					}
					return fmt.Sprintf("%08d", ids), nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer book.Close()
			h.Book = book
			second, err := begin(t.Context(), h, spec, work)
			if err != nil || string(first) != `"done"` || string(second) != string(first) || worked != 1 {
				t.Errorf("the answers are %s and %s, %v, after %d times; want both the same, after one", first, second, err, worked)
			}
		})
	}
}
