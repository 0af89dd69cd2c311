package runs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/venue/runs"
)

// Of one principal 64 runs execute in the background, 16 of one agent; who is
// over is told the limit, and there is room again when one ends.
func TestRunsAtOnce(t *testing.T) {
	h := openHouse(t)
	everything := func() caps.Set { return caps.Unrestricted() }
	clerk, other := h.mint.Agent(h.alice, "clerk", everything), h.mint.Agent(h.alice, "other", everything)
	release := make(chan struct{})
	var all []*runs.Run
	refused := func(auth tools.Authority, says string) {
		t.Helper()
		_, err := h.Start(t.Context(), auth, runs.Spec{Kind: runs.Job}, until(release))
		if !errors.Is(err, runs.ErrTooMany) || !strings.Contains(err.Error(), says) {
			t.Errorf("after %d runs: %v, want a refusal that says %q", len(all), err, says)
		}
	}
	for range 16 {
		all = append(all, h.start(t, clerk, until(release)))
	}
	refused(clerk, "(16 of agent clerk)")
	for range 16 {
		all = append(all, h.start(t, other, until(release)))
	}
	for len(all) < 64 {
		all = append(all, h.start(t, h.mint.User(h.alice), until(release)))
	}
	refused(h.mint.User(h.alice), "(64)")
	h.start(t, h.mint.User(h.bob), until(release))

	all[0].Stop(errors.New("enough"))
	_, _ = all[0].Wait(t.Context())
	h.start(t, clerk, until(release))
	close(release)
}

// What an agent has others start in the background counts as its own too.
func TestRunsThroughOthers(t *testing.T) {
	h := openHouse(t)
	everything := func() caps.Set { return caps.Unrestricted() }
	boss := h.mint.Agent(h.alice, "boss", everything)
	release := make(chan struct{})
	defer close(release)
	for n := range 17 {
		helper := h.mint.Agent(h.alice, fmt.Sprintf("helper%d", n%4), everything)
		_, err := h.Start(t.Context(), helper.ByCaller(boss, n%2 == 1), runs.Spec{Kind: runs.Job, Background: true}, until(release))
		switch {
		case n < 16 && err != nil:
			t.Fatalf("run %d: %v", n, err)
		case n == 16 && (!errors.Is(err, runs.ErrTooMany) || !strings.Contains(err.Error(), "(16 of agent boss)")):
			t.Errorf("run 17 = %v, want a refusal that says (16 of agent boss)", err)
		}
	}
}

// All that comes of one first call begins at most a thousand runs.
func TestRunsOfACallTree(t *testing.T) {
	h := openHouse(t)
	root := h.mint.User(h.alice).InTurn("main") // its meter counts from here
	ended := make(chan struct{})
	close(ended)
	for n := range 1000 {
		if _, err := h.Here(t.Context(), root, runs.Spec{Kind: runs.Job}, until(ended)); err != nil {
			t.Fatalf("run %d: %v", n, err)
		}
	}
	_, err := h.Here(t.Context(), root, runs.Spec{Kind: runs.Job}, until(ended))
	if !errors.Is(err, &tools.LimitError{Kind: tools.Runs, Limit: 1000}) {
		t.Errorf("run 1,001: %v, want the limit of 1,000", err)
	}
	if _, err := h.Here(t.Context(), h.mint.User(h.alice).InTurn("main"), runs.Spec{Kind: runs.Job}, until(ended)); err != nil {
		t.Errorf("another first call: %v", err)
	}
}

// Pages of a listing have each run once, the latest first, whatever their size.
func TestList(t *testing.T) {
	h := openHouse(t)
	var want []string
	for i := range 25 {
		auth := h.mint.User(h.alice)
		if i%5 == 4 {
			auth = h.mint.User(h.bob) // not hers
		}
		r := h.start(t, auth, steps(0))
		if _, err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i%5 != 4 {
			want = append(want, r.ID())
		}
	}
	slices.Reverse(want)
	for _, size := range []int{1, 7, 10, 20, 100} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var got []string
			for before, pages := "", 0; ; pages++ {
				list, more, err := h.List(t.Context(), h.alice, before, size)
				if err != nil || len(list) > size || pages > len(want) {
					t.Fatalf("page %d has %d rows, %v", pages, len(list), err)
				}
				for _, rec := range list {
					got = append(got, rec.ID)
				}
				if before = more; more == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("the pages list %v, want %v", got, want)
			}
		})
	}
}

// A session that nobody uses stays in memory until enough others have been used
// since.
func TestIdleSessionsAreBounded(t *testing.T) {
	h := openHouse(t)
	of := tools.NewLife(h.alice, "clerk", "1")
	use := func(n int) *runs.Session {
		s, release, err := h.Sessions().Open(t.Context(), of, fmt.Sprintf("s%d", n), false)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		return s
	}
	first := use(0)
	if use(0) != first {
		t.Error("a session that was just used is read anew")
	}
	for n := 1; n < runs.MaxIdle; n++ {
		use(n)
	}
	if use(0) != first {
		t.Errorf("a session is gone with %d idle ones", runs.MaxIdle)
	}
	second := use(1)
	for n := range runs.MaxIdle {
		use(runs.MaxIdle + n)
	}
	if use(1) == second || use(0) == first {
		t.Errorf("sessions are still there after %d others", runs.MaxIdle)
	}
}
