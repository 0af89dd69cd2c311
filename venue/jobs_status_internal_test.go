package venue

import (
	"slices"
	"testing"

	"usher/venue/runs"
)

// A job that waits says for which request, and one that has ended says nothing of it.
func TestStatusOfWhatWaits(t *testing.T) {
	for status, want := range map[string][]string{runs.Waiting: {"ap1"}, runs.Complete: nil, runs.Cancelled: nil} {
		if got := statusOf(runs.Record{ID: "01A", Status: status, Waits: []string{"ap1"}}); !slices.Equal(got.Waits, want) {
			t.Errorf("a job that is %s waits for %q, want %q", status, got.Waits, want)
		}
	}
}
