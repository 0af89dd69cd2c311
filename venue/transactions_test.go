package venue_test

import (
	"testing"

	"usher/runtime"
	"usher/venue"
)

// A turn on disk takes at most four transactions of the store beside its tool's
// own write: what belongs together is written together.
func TestTransactionsOfATurn(t *testing.T) {
	v := open(t, &venue.Options{Dir: t.TempDir(), Models: map[string]runtime.Model{"default": clerk{}}})
	a := create(t, user(t, v, "alice"), spec("clerk", "", `[{"with":"w/notes/","can":"crud"}]`))
	count := func() uint64 {
		n, err := v.Transactions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if before := count(); count() != before+1 {
		t.Fatal("revisions do not count transactions any more: count them otherwise")
	}
	for _, session := range []string{"", "main"} {
		least := uint64(100)
		for range 3 { // what goes on beside the turns may write, too
			before, wrote := count(), 0
			for ev, err := range a.ChatIn(t.Context(), session, "Note it.") {
				if err != nil {
					t.Fatal(err)
				}
				if done, ok := ev.(runtime.ToolEnd); ok && done.Outcome == runtime.ToolOK {
					wrote++
				}
			}
			if wrote != 1 {
				t.Fatalf("a turn wrote %d times, want once", wrote)
			}
			least = min(least, count()-before-1)
		}
		if least > 4+1 {
			t.Errorf("a turn in session %q took %d transactions, want 4 at most beside its one write", session, least)
		}
	}
}
