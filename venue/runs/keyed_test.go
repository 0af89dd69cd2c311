package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
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

// The key of a run goes with it, and begins another one then.
func TestTheKeyOfARunThatIsPruned(t *testing.T) {
	h := openHouse(t)
	worked := 0
	begin := func(key string) string {
		t.Helper()
		r, err := h.Start(t.Context(), h.mint.User(h.alice), runs.Spec{Kind: runs.Job, Op: "v/ops/test", Key: key}, func(context.Context, *runs.Run) (json.RawMessage, error) {
			worked++
			return json.RawMessage(`"done"`), nil
		})
		if err == nil {
			_, err = r.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return r.ID()
	}
	first, second := begin("a"), begin("b")
	if n, err := h.Prune(t.Context(), runs.Keep{Number: 1}, func(context.Context) error { return nil }); n != 1 || err != nil {
		t.Fatalf("%d runs are pruned, %v", n, err)
	}
	keys, _, err := h.store.Under("").PageKeys(t.Context(), "r/key/", "", 10)
	if err != nil || len(keys) != 1 || !strings.HasSuffix(keys[0], "/b") {
		t.Errorf("the keys %q are left, %v; want that of the run that is", keys, err)
	}
	if again, same := begin("a"), begin("b"); again == first || same != second || worked != 3 {
		t.Errorf("runs %s and %s after %s and %s, worked %d times; want a new one and the same", again, same, first, second, worked)
	}
}

// A run that the one above it may ask for again stays with its key, as long as that goes on.
func TestTheKeyOfARunBelowOneThatGoesOn(t *testing.T) {
	h := openHouse(t)
	goOn := make(chan struct{})
	child := make(chan *runs.Run, 1)
	parent := h.start(t, h.mint.User(h.alice), func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		run, err := h.Start(ctx, r.Authority(), runs.Spec{Kind: runs.Job, Op: "v/ops/test", Key: "a"}, func(context.Context, *runs.Run) (json.RawMessage, error) {
			return json.RawMessage(`"paid"`), nil
		})
		if err != nil {
			close(child)
			return nil, err
		}
		child <- run
		return until(goOn)(ctx, r)
	})
	below, begun := <-child
	if !begun {
		t.Fatal("it is not begun")
	}
	for _, r := range []*runs.Run{below, parent} {
		if _, err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		keep := runs.Keep{Before: time.Now().Add(time.Hour)}
		n, err := h.Prune(t.Context(), keep, func(context.Context) error { return nil })
		keys, _, failed := h.store.Under("").PageKeys(t.Context(), "r/key/", "", 10)
		if want := map[*runs.Run]int{below: 0, parent: 2}[r]; n != want || len(keys) != 1-want/2 || err != nil || failed != nil {
			t.Errorf("%d runs are pruned, %v, and the keys %q are left, %v; want %d", n, err, keys, failed, want)
		}
		if r == below {
			close(goOn)
		}
	}
}
