package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/toolstest"
	"usher/ucan"
	"usher/venue/ledger"
	"usher/venue/runs"
	"usher/venue/store"
	"usher/venue/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// free is spending that nothing is charged to.
type free struct{}

func (free) Draft(context.Context, map[string][]byte) func(bool) { return nil }
func (free) Forget(context.Context, string) ([]string, error)    { return nil, nil }

// house is a book with users.
type house struct {
	*runs.Book
	store      *store.Store
	ledger     *ledger.Ledger
	mint       *toolstest.Mint
	alice, bob ucan.DID
}

// openHouse opens a book in memory that the test closes at its end.
func openHouse(t *testing.T) *house {
	t.Helper()
	st := memory.Open()
	if err := ledger.Create(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), st, ledger.Options{Key: key(t, 1)})
	if err != nil {
		t.Fatal(err)
	}
	var ids atomic.Int64
	book, err := runs.Open(t.Context(), runs.Options{
		Store: st.Under(""), Ledger: l, Spending: free{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		NewID: func() (string, error) { return fmt.Sprintf("%08d", ids.Add(1)), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		book.Close()
		if err := errors.Join(l.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	_, mint := toolstest.NewGate(new(tools.Registry), nil)
	return &house{book, st, l, mint, key(t, 2).DID(), key(t, 3).DID()}
}

func key(t *testing.T, seed byte) ucan.Key {
	t.Helper()
	raw := make([]byte, 32)
	raw[0] = seed
	k, err := ucan.KeyFromSeed(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// start starts a job.
func (h *house) start(t *testing.T, auth tools.Authority, work runs.Work) *runs.Run {
	t.Helper()
	r, err := h.Start(t.Context(), auth, runs.Spec{Kind: runs.Job, Op: "v/ops/test", Background: true}, work)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// until is work that waits for a channel, and then answers.
func until(c <-chan struct{}) runs.Work {
	return func(ctx context.Context, _ *runs.Run) (json.RawMessage, error) {
		select {
		case <-c:
			return json.RawMessage(`"done"`), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func steps(n int) runs.Work {
	return func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		for i := range n {
			if err := r.Step(ctx, runtime.Step{N: i, Op: "covia:read", Status: "COMPLETE"}); err != nil {
				return nil, err
			}
		}
		return json.RawMessage(`{}`), nil
	}
}

// A run goes on when whoever started it has gone, is found by its id from
// anywhere, and is its owner's alone.
func TestARunIsItsOwn(t *testing.T) {
	h := openHouse(t)
	here, gone := context.WithCancel(t.Context())
	release := make(chan struct{})
	r, err := h.Start(here, h.mint.User(h.alice), runs.Spec{Kind: runs.Job, Op: "v/ops/test"}, until(release))
	if err != nil {
		t.Fatal(err)
	}
	gone()
	if rec, err := h.Find(t.Context(), h.alice, r.ID()); err != nil || rec.Status != runs.Started {
		t.Errorf("Find = %+v, %v; want it STARTED", rec, err)
	}
	if h.Live(h.bob, r.ID()) != nil {
		t.Error("another user reaches it")
	} else if _, err := h.Find(t.Context(), h.bob, r.ID()); fault.Of(err) != fault.NotFound {
		t.Errorf("another user's Find = %v, want that there is none", err)
	}
	close(release)
	if out, err := r.Wait(t.Context()); string(out) != `"done"` || err != nil {
		t.Errorf("Wait = %s, %v", out, err)
	}
	rec, err := h.Find(t.Context(), h.alice, r.ID())
	if err != nil || rec.Status != runs.Complete || string(rec.Output) != `"done"` || h.Live(h.alice, r.ID()) != nil {
		t.Errorf("Find afterwards = %+v, %v; want it COMPLETE and no more executing", rec, err)
	}
}

func TestHowRunsEnd(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		work   runs.Work
		stop   error
		status string
		says   string
	}{
		"fails": {work: func(context.Context, *runs.Run) (json.RawMessage, error) { return nil, broken }, status: runs.Failed, says: "broken"},
		"denied": {work: func(context.Context, *runs.Run) (json.RawMessage, error) {
			return nil, caps.Set{}.Check(caps.Need("crud/read", "w/a")).Denial("v/ops/covia/read")
		}, status: runs.Rejected, says: "Capability denied"},
		"panics":  {work: func(context.Context, *runs.Run) (json.RawMessage, error) { panic("boo") }, status: runs.Failed, says: "boo"},
		"stopped": {work: until(nil), stop: runtime.ErrStopped, status: runs.Cancelled, says: runtime.ErrStopped.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			h := openHouse(t)
			r := h.start(t, h.mint.User(h.alice), tc.work)
			if tc.stop != nil {
				r.Stop(tc.stop)
			}
			if _, err := r.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Wait = %v, want %q", err, tc.says)
			}
			if rec, err := h.Find(t.Context(), h.alice, r.ID()); err != nil || rec.Status != tc.status || !strings.Contains(rec.Error, tc.says) {
				t.Errorf("Find = %s %q, %v; want %s %q", rec.Status, rec.Error, err, tc.status, tc.says)
			}
		})
	}
}

// A job ends after an hour, and all end when the book closes, which then starts
// nothing more.
func TestWhatEndsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHouse(t)
		alice := h.mint.User(h.alice)
		began := time.Now()
		if _, err := h.start(t, alice, until(nil)).Wait(t.Context()); fault.Of(err) != fault.Timeout || time.Since(began) != time.Hour {
			t.Errorf("after %s: %v, want a timeout after an hour", time.Since(began), err)
		}
		r := h.start(t, alice, until(nil))
		h.Close()
		if _, err := r.Wait(t.Context()); !errors.Is(err, runs.ErrInterrupted) {
			t.Errorf("a run that is executing at Close: %v, want %v", err, runs.ErrInterrupted)
		}
		if _, err := h.Start(t.Context(), alice, runs.Spec{Kind: runs.Job}, until(nil)); fault.Of(err) != fault.Stopped {
			t.Errorf("a start after Close: %v, want that it is refused", err)
		}
	})
}

// Whoever follows sees each event once and in order, from any on, while the run
// executes and afterwards.
func TestEvents(t *testing.T) {
	h := openHouse(t)
	r := h.start(t, h.mint.User(h.alice), steps(5))
	follow := func(after uint64, of func(context.Context, uint64) func(func(runtime.Entry, error) bool)) (seqs []uint64) {
		for e, err := range of(t.Context(), after) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Run != r.ID() {
				t.Errorf("an event of run %q", e.Run)
			}
			seqs = append(seqs, e.Seq)
		}
		return seqs
	}
	live := func(ctx context.Context, after uint64) func(func(runtime.Entry, error) bool) {
		return r.Events(ctx, after)
	}
	stored := func(ctx context.Context, after uint64) func(func(runtime.Entry, error) bool) {
		return h.Events(ctx, h.alice, r.ID(), after)
	}
	all := follow(0, live)
	if diff := cmp.Diff([]uint64{1, 2, 3, 4, 5}, all); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for after := range uint64(6) {
		for name, of := range map[string]func(context.Context, uint64) func(func(runtime.Entry, error) bool){"the run": live, "the book": stored} {
			if diff := cmp.Diff(all[after:], follow(after, of), cmp.Transformer("empty", func(s []uint64) int { return len(s) })); diff != "" {
				t.Errorf("events of %s after %d (-want +got):\n%s", name, after, diff)
			}
		}
	}
	for _, err := range h.Events(t.Context(), h.bob, r.ID(), 0) {
		if fault.Of(err) != fault.NotFound {
			t.Errorf("another user follows it: %v", err)
		}
	}
}

// Whoever follows a run gets its events in the envelopes that the log has them in.
func TestEnvelopes(t *testing.T) {
	h := openHouse(t)
	auth := h.mint.Agent(h.alice, "clerk", caps.Unrestricted).InRun("outer")
	r := h.start(t, auth, steps(3))
	if _, err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := func(seq iter.Seq2[runtime.Entry, error]) (list []runtime.Entry) {
		for e, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			e.Time = e.Time.UTC().Round(0) // as it is stored
			list = append(list, e)
		}
		return list
	}
	live, stored := all(r.Events(t.Context(), 0)), all(h.Events(t.Context(), h.alice, r.ID(), 0))
	if diff := cmp.Diff(stored, live); diff != "" {
		t.Errorf("events of the run (-stored +live):\n%s", diff)
	}
	if len(live) == 0 || live[0].Run != r.ID() || live[0].Agent != "clerk" || live[0].Parent != "outer" {
		t.Errorf("the first event is %+v", live)
	}
}

// A step of an orchestration is written as one row of its own: the record of the
// run is not written again with it, however many steps there are.
func TestAStepIsOneRow(t *testing.T) {
	const n, output = 200, 4 << 10
	h := openHouse(t)
	value, _ := json.Marshal(strings.Repeat("x", output)) // cannot fail
	var revs []uint64
	r := h.start(t, h.mint.User(h.alice), func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		for i := range n {
			if err := r.Step(ctx, runtime.Step{N: i, Op: "covia:read", Status: "COMPLETE", Output: value}); err != nil {
				return nil, err
			}
			_, rev, err := h.store.Get(ctx, "r/run/"+h.alice.String()+"/"+r.ID())
			if err != nil {
				return nil, err
			}
			revs = append(revs, rev)
		}
		return json.RawMessage(`{}`), nil
	})
	if _, err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if slices.Max(revs) != slices.Min(revs) {
		t.Errorf("the record was written with the steps, at the revisions %v", slices.Compact(revs))
	}
	rows := 0
	for row, err := range store.Rows(t.Context(), h.store, "r/log/", "") {
		if err != nil {
			t.Fatal(err)
		}
		if rows++; len(row.Value) > output+1<<10 {
			t.Errorf("row %d has %d bytes, for a step of %d", rows, len(row.Value), output)
		}
	}
	if rows != n {
		t.Errorf("%d steps left %d rows", n, rows)
	}
}

// A listener that does not read holds nothing up, and misses no entry and no
// piece of an answer; of the notes beside it, it is spared the most.
func TestASlowListener(t *testing.T) {
	const pieces = 1000
	h := openHouse(t)
	r, err := h.Start(t.Context(), h.mint.User(h.alice), runs.Spec{Kind: runs.Job, Op: "v/ops/test", Followed: true}, func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		for i := range pieces {
			r.Show(runtime.TextDelta{Text: "x"})
			r.Show(runtime.ModelDelay{Try: i})
			if i%100 == 0 {
				if err := r.Step(ctx, runtime.Step{N: i / 100, Op: "covia:read", Status: "COMPLETE"}); err != nil {
					return nil, err
				}
			}
		}
		for range pieces {
			r.Show(runtime.TextDelta{Text: "y"})
		}
		return json.RawMessage(`{}`), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var entries, notes, endings int
	var text strings.Builder
	for e, err := range r.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := e.Event.(type) {
		case runtime.Step:
			if entries++; e.Seq != uint64(entries) {
				t.Errorf("entry %d comes as number %d", e.Seq, entries)
			}
		case runtime.ModelDelay:
			notes++
		case runtime.TextDelta:
			if text.WriteString(ev.Text); strings.HasPrefix(ev.Text, "y") {
				endings++
			}
		}
	}
	if entries != 10 || text.String() != strings.Repeat("x", pieces)+strings.Repeat("y", pieces) {
		t.Errorf("%d entries and %d bytes of text, want 10 and all %d in order", entries, text.Len(), 2*pieces)
	}
	if notes > 256 || endings > 2 {
		t.Errorf("%d notes and %d pieces waited, want at most 256, and pieces grown together", notes, endings)
	}
}

// One who stops listening, or whose context ends, changes nothing for the run.
func TestAListenerLeaves(t *testing.T) {
	h := openHouse(t)
	release := make(chan struct{})
	r := h.start(t, h.mint.User(h.alice), func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		if _, err := steps(2)(ctx, r); err != nil {
			return nil, err
		}
		return until(release)(ctx, r)
	})
	for _, err := range r.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	ctx, leave := context.WithCancelCause(t.Context())
	left := errors.New("left")
	leave(left)
	var last error
	for _, last = range r.Events(ctx, 2) {
	}
	if !errors.Is(last, left) {
		t.Errorf("a listener whose context has ended is told %v, want why it ended", last)
	}
	if _, err := r.Wait(ctx); !errors.Is(err, left) {
		t.Errorf("Wait = %v, want why its context ended", err)
	}
	close(release)
	if _, err := r.Wait(t.Context()); err != nil {
		t.Errorf("the run ended with %v", err)
	}
}

// Whoever has waited for a run finds it among those that execute no more, however
// busy the book is.
func TestEndedExecutesNoMore(t *testing.T) {
	h := openHouse(t)
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					h.LiveRuns()
				}
			}
		})
	}
	defer busy.Wait()
	defer close(stop)
	for range 500 {
		r := h.start(t, h.mint.User(h.alice), steps(0))
		if _, err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := h.LiveRuns(); len(left) > 0 {
			t.Fatalf("run %s has ended and executes", left[0].ID())
		}
	}
}
