package venue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/spend"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/venuetest"
)

// keeping is a venue with a clock of the test's, which keeps what keep says.
type keeping struct {
	*venue.Venue
	t     *testing.T
	dir   string
	keep  config.Retention
	model runtime.Model

	mu  sync.Mutex
	now time.Time
}

func newKeeping(t *testing.T, keep config.Retention, m runtime.Model) *keeping {
	k := &keeping{t: t, dir: t.TempDir(), keep: keep, model: m, now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)}
	k.open()
	t.Cleanup(k.shut)
	return k
}

func (k *keeping) time() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// pass lets time pass, a day at a time, in each of which the venue is open.
func (k *keeping) pass(days int) {
	k.t.Helper()
	for range days {
		k.shut()
		k.set(20 * time.Hour)
		k.open()
	}
}

func (k *keeping) set(by time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = k.now.Add(by)
}

func (k *keeping) open() {
	k.t.Helper()
	v, err := venue.Open(k.t.Context(), &venue.Options{Dir: k.dir, Now: k.time, Retention: k.keep, Models: map[string]runtime.Model{"default": k.model}})
	if err != nil {
		k.t.Fatal(err)
	}
	k.Venue = v
}

func (k *keeping) shut() {
	k.t.Helper()
	if err := k.Close(); err != nil {
		k.t.Error(err)
	}
}

func (k *keeping) prune() {
	k.t.Helper()
	if _, err := k.Prune(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
}

func (k *keeping) agent(id string) *venue.Agent {
	k.t.Helper()
	return agentOf(k.t, user(k.t, k.Venue, "alice"), id)
}

func (k *keeping) say(id, session string) {
	k.t.Helper()
	if _, err := venuetest.Turn(k.t.Context(), k.agent(id), session, "hello"); err != nil {
		k.t.Fatal(err)
	}
}

// sessions are the ids of an agent's sessions, in their order.
func (k *keeping) sessions(id string) (ids []string) {
	k.t.Helper()
	heads, err := k.agent(id).Sessions(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, h := range heads {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	return ids
}

func (k *keeping) keys(prefix string) int {
	k.t.Helper()
	n, err := k.KeysBelow(k.t.Context(), prefix)
	if err != nil {
		k.t.Fatal(err)
	}
	return n
}

func (k *keeping) want(id string, sessions ...string) {
	k.t.Helper()
	if got := k.sessions(id); !slices.Equal(got, sessions) {
		k.t.Errorf("the sessions of %s are %q, want %q", id, got, sessions)
	}
}

const day = 24 * time.Hour

func TestSessionsAreKeptByAgeAndNumber(t *testing.T) {
	p := new(puppet)
	p.Usage = &runtime.Usage{Input: 3, Output: 4}
	k := newKeeping(t, config.Retention{Sessions: config.KeepLimit{Age: 10 * day, Number: 3}}, p)
	alice := user(t, k.Venue, "alice")
	bounded := spec("carol", "", "")
	bounded.Budgets = &agents.Budgets{Run: calls(9)}
	create(t, alice, bounded)
	create(t, alice, spec("dave", "", ""))
	spent := func(id string) spend.Amount {
		t.Helper()
		return venuetest.Info(t, k.agent(id)).Spent
	}
	k.say("carol", "waits")
	invoke(t, alice, "agent:message", `{"agentId":"carol","sessionId":"waits","message":"later"}`)
	k.say("carol", "old")
	k.say("carol", "") // of the venue's own name
	total := spent("carol")
	entries, accounts, records := k.keys("r/ses/"), k.keys("b/"), k.keys("r/run/")
	if records != 3 || accounts != 4+3 {
		t.Fatalf("%d runs and %d accounts", records, accounts)
	}
	k.prune()
	if got := k.keys("r/ses/"); got != entries {
		t.Errorf("%d entries, were %d: something went before its time", got, entries)
	}
	k.pass(13)
	k.prune()
	k.want("carol", "waits")
	if got := k.keys("r/run/"); got != 1 {
		t.Errorf("%d records of turns are left", got)
	}
	// Those of the agent, of the session that is left and its run, and of the name that can come again.
	if got := k.keys("b/"); got != 4 {
		t.Errorf("%d accounts are left", got)
	}
	if got := spent("carol"); got != total {
		t.Errorf("carol has spent %+v, had spent %+v", got, total)
	}
	if got := k.keys("r/gone/") + k.keys("r/open/"); got != 0 {
		t.Errorf("%d marks are left", got)
	}
	k.say("carol", "old") // begins anew
	n := 0
	for e, err := range k.agent("carol").History(t.Context(), "old") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; e.Seq != uint64(n) {
			t.Errorf("entry %d has the number %d", n, e.Seq)
		}
	}

	for i := range 5 { // of which three stay
		k.set(time.Minute)
		k.say("dave", fmt.Sprintf("s%d", i))
	}
	k.prune()
	k.want("dave", "s2", "s3", "s4")
	k.want("carol", "old", "waits")
}

// A session whose turn runs stays, however many others there are.
func TestSessionsInUseAreKept(t *testing.T) {
	p := new(puppet)
	k := newKeeping(t, config.Retention{Sessions: config.KeepLimit{Number: 1}}, p)
	clerk := spec("carol", "", "")
	clerk.Tools = []string{"covia:read"}
	create(t, user(t, k.Venue, "alice"), clerk)
	p.Ask("covia_read", `{"path":"w/x"}`)
	p.Between(func() { // in the middle of the turn of a
		k.set(time.Minute)
		k.say("carol", "b")
		k.prune()
	})
	k.say("carol", "a")
	k.want("carol", "a", "b")
	k.set(time.Hour)
	k.say("carol", "a")
	k.prune()
	k.want("carol", "a")
}

// Whoever opens a session while it is removed finds either all of it or none.
func TestSessionsRemovedUnderTurns(t *testing.T) {
	k := newKeeping(t, config.Retention{Sessions: config.KeepLimit{Number: 1}}, new(puppet))
	create(t, user(t, k.Venue, "alice"), spec("carol", "", ""))
	carol := k.agent("carol")
	ctx, stop := context.WithCancel(t.Context())
	var pruning sync.WaitGroup
	pruning.Go(func() {
		for ctx.Err() == nil {
			if _, err := k.Prune(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
	var turns sync.WaitGroup
	for i := range 4 {
		turns.Go(func() {
			for n := range 20 {
				k.set(time.Millisecond)
				if _, err := venuetest.Turn(t.Context(), carol, fmt.Sprintf("s%d", (i+n)%3), "hello"); err != nil {
					t.Errorf("turn: %v", err)
				}
			}
		})
	}
	turns.Wait()
	stop()
	pruning.Wait()
	for _, id := range k.sessions("carol") {
		want := uint64(1)
		for e, err := range carol.History(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Seq != want {
				t.Fatalf("session %s: entry %d where %d should be", id, e.Seq, want)
			}
			want++
		}
	}
}

func TestRunsAreKeptByAgeAndNumber(t *testing.T) {
	for name, keep := range map[string]config.KeepLimit{"age": {Age: 5 * day}, "number": {Number: 2}} {
		t.Run(name, func(t *testing.T) {
			k := newKeeping(t, config.Retention{Runs: keep}, new(puppet))
			run := func(u *venue.User) {
				t.Helper()
				k.set(time.Minute)
				invoke(t, u, "grid:run", `{"operation":"covia:read","input":{"path":"w/x"}}`)
			}
			create(t, user(t, k.Venue, "alice"), spec("carol", "", ""))
			k.set(time.Minute)
			invoke(t, user(t, k.Venue, "alice"), "agent:request", `{"agentId":"carol","input":"work","budget":{"calls":9}}`)
			for range 2 {
				run(user(t, k.Venue, "alice"))
			}
			if got := k.keys("b/task/"); got != 1 {
				t.Errorf("%d accounts of tasks", got)
			}
			run(user(t, k.Venue, "bob"))
			k.pass(7)
			for range 2 {
				run(user(t, k.Venue, "alice"))
			}
			k.prune()
			if got := k.keys("b/task/"); got != 0 {
				t.Errorf("%d accounts of tasks that are not kept", got)
			}
			counts := map[string]int{}
			for _, who := range []string{"alice", "bob"} {
				list, _, err := user(t, k.Venue, who).Runs(t.Context(), "", 100)
				if err != nil {
					t.Fatal(err)
				}
				counts[who] = len(list)
			}
			bob := 1
			if name == "age" {
				bob = 0
			}
			if counts["alice"] != 2 || counts["bob"] != bob {
				t.Errorf("runs: %v, want 2 of alice and %d of bob", counts, bob)
			}
		})
	}
}

// By a clock that is wrong at one opening nothing is removed by its age, though all
// is older than it may be.
func TestNothingGoesByAWrongClock(t *testing.T) {
	all := config.KeepLimit{Age: 10 * day}
	for name, wrong := range map[string]time.Duration{"two days ahead": 2 * day, "ten years ahead": 3650 * day, "ten years behind": -3650 * day} {
		t.Run(name, func(t *testing.T) {
			k := newKeeping(t, config.Retention{Sessions: all, Runs: all, Rows: all}, new(puppet))
			create(t, user(t, k.Venue, "alice"), spec("carol", "", ""))
			k.say("carol", "a")
			k.pass(9)
			rows := k.keys("l/row/")
			k.shut()
			k.set(wrong)
			k.open()
			k.prune()
			k.shut()
			k.set(time.Minute - wrong)
			k.open()
			k.prune()
			k.want("carol", "a")
			if got := k.keys("l/row/"); got < rows || k.keys("r/run/") != 1 {
				t.Errorf("%d rows, were %d; %d runs", got, rows, k.keys("r/run/"))
			}
		})
	}
}

// Rows go by their number, and what is left is whole.
func TestRowsAreKept(t *testing.T) {
	k := newKeeping(t, config.Retention{Rows: config.KeepLimit{Number: 50}}, new(puppet))
	alice := user(t, k.Venue, "alice")
	for range 8 {
		for range 10 {
			invoke(t, alice, "covia:read", `{"path":"w/x"}`)
		}
		if _, err := k.Ledger().Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	k.prune()
	for range 3 { // a tenth more does not matter
		k.prune()
	}
	report, err := k.Ledger().Verify(t.Context(), []string{venue.CheckpointFile(k.dir)})
	if err != nil {
		t.Fatal(err)
	}
	if left := report.Rows - report.Pruned; report.Pruned == 0 || left < 50 || left > 80 || report.Rows != 161 || k.keys("l/row/") != int(left) {
		t.Errorf("Verify = %+v, and %d rows are stored", report, k.keys("l/row/"))
	}
	k.pass(1)
}
