package ratelimit

import (
	"strconv"
	"testing"
	"time"
)

// Each key has a burst of its own, which comes back with time; keys at rest are forgotten where there
// are many, and no others.
func TestTake(t *testing.T) {
	table, now := New(2, 3), time.Unix(1_800_000_000, 0)
	come := func(key string, want ...bool) {
		t.Helper()
		for i, let := range want {
			if got := table.Take(key, now); got != let {
				t.Errorf("%s comes for the %d. time: %v, want %v", key, i+1, got, let)
			}
		}
	}
	come("a", true, true, true, false)
	come("b", true)
	now = now.Add(time.Second)
	come("a", true, true, false)

	for i := range maxKeys {
		come(strconv.Itoa(i), true)
	}
	come("a", false)
	now = now.Add(time.Second)
	come("a", true, true, false)
	come("new", true)
	come("a", false)
	if len(table.of) != 2 {
		t.Errorf("%d keys are kept, want the 2 that are not at rest", len(table.of))
	}
}
