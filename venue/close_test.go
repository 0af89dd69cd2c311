package venue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/ledger"
	"usher/venue/runs"
)

// busy is a model that asks for work for ever, and counts what it is paid.
type busy struct{ paid atomic.Int64 }

func (m *busy) Generate(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		m.paid.Add(10)
		yield(runtime.Chunk{Call: &runtime.CallDelta{Name: "test_work", Arguments: `{}`}, Usage: &runtime.Usage{Input: 7, Output: 3}}, nil)
	}
}

// worker is an operation that has an effect at once; each eighth call then waits to
// be stopped.
func worker(effects *atomic.Int64) *tools.Operation {
	return tools.New("test:work", "Work.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, _ tools.Call, _ struct{}) (struct{}, error) {
			if effects.Add(1)%8 == 0 {
				<-ctx.Done()
			}
			return struct{}{}, ctx.Err()
		}, tools.Within(caps.ScopeAbility("invoke")))
}

// unsettled are the decisions of the ledger that let something run and have no
// outcome; outcomes counts the others by theirs.
func unsettled(t *testing.T, v *venue.Venue) (open map[uint64]string, outcomes map[string]int) {
	t.Helper()
	open, outcomes = make(map[uint64]string), make(map[string]int)
	for row, err := range v.Audit(t.Context(), 1) {
		switch {
		case err != nil:
			t.Fatal(err)
		case row.Entry == nil:
			delete(open, row.Of)
			outcomes[row.Outcome]++
		case row.Verdict == tools.Allowed:
			open[row.Seq] = row.Operation
		}
	}
	return open, outcomes
}

// ends counts how the sessions of an agent end.
func ends(t *testing.T, a *venue.Agent, sessions []string) map[string]int {
	t.Helper()
	out := make(map[string]int)
	for _, id := range sessions {
		last := "no event"
		for e, err := range a.History(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			last = fmt.Sprintf("%T", e.Event)
			if end, ok := e.Event.(runtime.TurnEnd); ok {
				last = end.Code
			}
		}
		out[last]++
	}
	return out
}

// Close ends what runs before it closes what keeps it: each turn has its end, or
// rests where the venue works, each decision its outcome, and what was spent is stored.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) { closeUnderLoad(t, true, string(fault.Stopped)) })
	t.Run("works", func(t *testing.T) { closeUnderLoad(t, false, "runtime.TurnRest") })
}

func closeUnderLoad(t *testing.T, idle bool, end string) {
	const turns = 64
	dir := t.TempDir()
	var logged bytes.Buffer
	var effects atomic.Int64
	m := new(busy)
	opts := &venue.Options{
		Dir: dir, Models: map[string]runtime.Model{"default": m}, Tools: []*tools.Operation{worker(&effects)}, Idle: idle,
		Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	opts.Limits.ModelCalls = 1_000_000
	v, err := venue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	alice := user(t, v, "alice")
	s := spec("bob", "", `[{"with":"","can":"invoke"}]`)
	s.Tools = []string{"test:work"}
	bob := create(t, alice, s)
	var sessions []string
	var working sync.WaitGroup
	for i := range turns {
		id := fmt.Sprint("s", i)
		sessions = append(sessions, id)
		working.Go(func() {
			var last error
			for _, err := range bob.ChatIn(t.Context(), id, "work") {
				last = err
			}
			if last == nil {
				t.Errorf("the turn of %s ended by itself", id)
			}
		})
	}
	calls := make([]error, 8) // in person
	for i := range calls {
		working.Go(func() {
			for calls[i] == nil {
				_, calls[i] = alice.Invoke(t.Context(), "test:work", struct{}{})
			}
		})
	}
	for effects.Load() < 8*turns {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		default:
			_, _ = bob.Info(t.Context()) // it takes its time
		}
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range bob.Chat(t.Context(), "more") {
		if err == nil || fault.Of(err) != fault.Stopped || !strings.Contains(err.Error(), "the venue closes") {
			t.Errorf("a turn after Close: %v, want that the venue closes", err)
		}
	}
	if _, err := alice.Invoke(t.Context(), "covia:read", map[string]string{"path": "w/a"}); fault.Of(err) != fault.Stopped || !strings.Contains(err.Error(), "the venue closes") {
		t.Errorf("a call after Close: %v, want that the venue closes", err)
	}
	working.Wait()
	for _, err := range calls {
		if code := fault.Of(err); code != fault.Stopped && code != fault.Unknown {
			t.Errorf("a call in person ended with %v (%s)", err, code)
		}
	}
	if logged.Len() > 0 {
		t.Errorf("Close said: %.2000s", logged.String())
	}

	v = open(t, &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": m}, Tools: []*tools.Operation{worker(&effects)}, Idle: true})
	missing, outcomes := unsettled(t, v)
	if len(missing) > 0 {
		t.Errorf("%d decisions have no outcome: %v", len(missing), missing)
	}
	if idle && outcomes[ledger.OutcomeUnknown] == 0 || outcomes["failed"] > 0 {
		t.Errorf("outcomes are %v, want unknown ones of the calls that were stopped, and none that failed", outcomes)
	}
	bob, err = user(t, v, "alice").Agent(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	if got := ends(t, bob, sessions); got[end] != turns {
		t.Errorf("the turns ended as %v, want all %s", got, end)
	}
	info, err := bob.Info(t.Context())
	if err != nil || info.Spent.Tokens < m.paid.Load() {
		t.Errorf("bob has spent %+v, %v; want at least the %d tokens that its model was paid", info.Spent, err, m.paid.Load())
	}
	if got, want := int64(outcomes["ok"]+outcomes[ledger.OutcomeUnknown]), effects.Load(); got < want {
		t.Errorf("the ledger has %d outcomes of %d effects", got, want)
	}
}

// What does not stop holds Close up for the grace and no longer. Its turn then has an
// end all the same, or rests where the venue works, and its call an outcome: unknown.
func TestCloseLeavesBehindWhatDoesNotStop(t *testing.T) {
	t.Run("idle", func(t *testing.T) { leaveBehind(t, true) })
	t.Run("works", func(t *testing.T) { leaveBehind(t, false) })
}

func leaveBehind(t *testing.T, idle bool) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := tools.New("test:stuck", "Do not stop.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
			func(context.Context, tools.Call, struct{}) (struct{}, error) {
				<-release
				return struct{}{}, nil
			}, tools.Within(caps.ScopeAbility("invoke")))
		p := new(puppet)
		dir := t.TempDir()
		v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": p}, Tools: []*tools.Operation{stuck}, Idle: idle})
		if err != nil {
			t.Fatal(err)
		}
		alice := user(t, v, "alice")
		s := spec("bob", "", `[{"with":"","can":"invoke"}]`)
		s.Tools = []string{"test:stuck"}
		bob := create(t, alice, s)
		p.Ask("test_stuck", `{}`)
		said, called := make(chan []runtime.Event, 1), make(chan error, 1)
		var ended error
		go func() {
			var events []runtime.Event
			for ev, err := range bob.Chat(t.Context(), "go") {
				if ended = err; err == nil {
					events = append(events, ev)
				}
			}
			said <- events
		}()
		go func() {
			_, err := alice.Invoke(t.Context(), "test:stuck", struct{}{})
			called <- err
		}()
		synctest.Wait()
		began := time.Now()
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != runs.DefaultGrace {
			t.Errorf("Close took %s, want %s", took, runs.DefaultGrace)
		}
		events := <-said
		last, ok := events[len(events)-1].(runtime.TurnEnd)
		if !idle {
			if fault.Of(ended) != fault.Waiting {
				t.Errorf("the turn ended with %v, want that it rests", ended)
			}
		} else if !errors.Is(ended, runs.ErrInterrupted) {
			t.Errorf("the turn ended with %v, want %v", ended, runs.ErrInterrupted)
		} else if !ok || last.Code != string(fault.Interrupted) || !strings.Contains(last.Error, "whether these calls took effect is unknown: test_stuck") {
			t.Errorf("the turn ends with %+v, want that it was interrupted", events[len(events)-1])
		}
		close(release)
		if err := <-called; fault.Of(err) != fault.Unknown {
			t.Errorf("the call in person ended with %v, want that its effect is unknown", err)
		}
		if v, err = venue.Open(t.Context(), &venue.Options{Dir: dir, Idle: true}); err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if missing, outcomes := unsettled(t, v); len(missing) > 0 || outcomes[ledger.OutcomeUnknown] != 2 {
			t.Errorf("the ledger lacks outcomes of %v, and has %v, want two unknown ones", missing, outcomes)
		}
		if bob, err = user(t, v, "alice").Agent(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		if got := ends(t, bob, []string{"main"}); idle && got[string(fault.Interrupted)] != 1 {
			t.Errorf("in the log the turn ends as %v, want %s", got, fault.Interrupted)
		}
		if cut, err := bob.Interruption(t.Context(), "main"); err != nil || cut == nil || !strings.Contains(cut.Error, "whether these calls took effect is unknown: test_stuck") {
			t.Errorf("Interrupted = %+v, %v, want that the effect of test_stuck is unknown", cut, err)
		}
	})
}
