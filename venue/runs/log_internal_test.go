package runs

import (
	"testing"
	"time"

	"usher/runtime"
)

// What a session holds in memory is what follows its last summary, whether its log
// is written or read.
func TestSizeOfASessionAfterSummaries(t *testing.T) {
	at := time.Unix(1, 0)
	for name, head := range map[string]Head{"written": {}, "read": {Seq: 30, Began: at, From: 1}} {
		l := newLog(nil, "did:key:x/clerk/1", "main", "head", head)
		for seq := uint64(1); seq <= 30; seq++ {
			e := runtime.Entry{Seq: seq, Time: at, Event: runtime.TurnStarted{Text: "hello"}}
			if seq > head.Seq && seq%10 == 0 {
				e.Event = runtime.Compacted{Through: seq - 3}
			}
			l.has(&e, 100)
		}
		want := 3 * 100 // the summary of 28 turns, and the two turns before it
		if head.Seq > 0 {
			want = 30 * 100
		}
		if l.total != want || len(l.sizes) != want/100 {
			t.Errorf("%s: it holds %d bytes of %d entries, want %d", name, l.total, len(l.sizes), want)
		}
	}
}
