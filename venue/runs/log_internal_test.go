package runs

import (
	"context"
	"strings"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue/store"
	"usher/venue/store/memory"
)

type unpaid struct{}

func (unpaid) Draft(context.Context, map[string][]byte) func(bool) { return nil }
func (unpaid) Forget(context.Context, string) ([]string, error)    { return nil, nil }

// Events that are too large for one batch together are written in several, and one
// that is too large by itself is refused by name: the log goes on after it.
func TestALogTakesInPartsWhatIsTooLarge(t *testing.T) {
	st := memory.Open()
	defer st.Close()
	b := &Book{opts: Options{Store: st.Under(""), Spending: unpaid{}}}
	if err := b.sessions.init(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	const life = tools.Life("did:key:x/clerk/1")
	l := newLog(b, life, "main", "head", Head{})
	long := strings.Repeat("x", store.MaxApplyBytes)
	seq := uint64(0)
	add := func(ev runtime.Event) error {
		return l.Append(t.Context(), "main", runtime.Entry{Seq: seq + 1, Time: time.Unix(1, 0), Event: ev})
	}
	for _, ev := range []runtime.Event{
		runtime.TurnStart{Text: long[:runtime.MaxSaid]},
		runtime.ModelAnswer{Text: long[:200<<10]}, // waits
		runtime.Compaction{Summary: long[:900<<10]},
		runtime.ModelAnswer{Text: long[:250<<10]}, // waits
		runtime.TurnEnd{Text: long[:runtime.MaxSaid], Output: []byte(`"` + long[:runtime.MaxSaid] + `"`)},
	} {
		if err := add(ev); err != nil {
			t.Fatalf("%T: %v", ev, err)
		}
		seq++
	}
	if err := add(runtime.Compaction{Summary: long}); fault.Of(err) != fault.TooLarge || !strings.Contains(err.Error(), "at most 1046528") {
		t.Errorf("a larger event: %.200v, want that it is too large", err)
	}
	if err := add(runtime.TurnEnd{Error: "too large"}); err != nil {
		t.Errorf("after it: %v", err)
	}
	kept := uint64(0)
	for e, err := range b.sessions.Entries(t.Context(), life, "main", 0) {
		if kept++; err != nil || e.Seq != kept {
			t.Fatalf("entry %d is %d, %v", kept, e.Seq, err)
		}
	}
	if kept != seq+1 {
		t.Errorf("the log has %d events, want %d", kept, seq+1)
	}
}

// What a session holds in memory is what follows its last summary, whether its log
// is written or read.
func TestSizeOfASessionAfterSummaries(t *testing.T) {
	at := time.Unix(1, 0)
	for name, head := range map[string]Head{"written": {}, "read": {Seq: 30, Began: at, From: 1}} {
		l := newLog(nil, "did:key:x/clerk/1", "main", "head", head)
		for seq := uint64(1); seq <= 30; seq++ {
			e := runtime.Entry{Seq: seq, Time: at, Event: runtime.TurnStart{Text: "hello"}}
			if seq > head.Seq && seq%10 == 0 {
				e.Event = runtime.Compaction{Through: seq - 3}
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
