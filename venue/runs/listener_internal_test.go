package runs

import (
	"testing"
	"time"

	"usher/runtime"
)

// TestSlowListener: what waits for a slow listener costs the run nothing at each event.
func TestSlowListener(t *testing.T) {
	l := newListener()
	last := uint64(0)
	put := func() {
		last++
		l.put(eventView{seq: last, event: runtime.TurnStart{}})
	}
	for last < 50_000 || len(l.queue) < cap(l.queue) {
		put()
	}
	waits, begun := last, time.Now()
	for n := range uint64(5_000) {
		if e, ok := l.next(); !ok || e.seq != n+1 {
			t.Fatalf("event %d comes, %t, want %d", e.seq, ok, n+1)
		}
		put()
	}
	if took := time.Since(begun); took > 300*time.Millisecond {
		t.Errorf("5000 events take %v while %d wait", took, waits)
	}
	for n := uint64(5_000); n < last; n++ {
		if e, ok := l.next(); !ok || e.seq != n+1 {
			t.Fatalf("event %d comes, %t, want %d", e.seq, ok, n+1)
		}
	}
	if _, ok := l.next(); ok {
		t.Error("there is one event more")
	}
}
