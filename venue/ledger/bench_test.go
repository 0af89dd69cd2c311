package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"usher/venue/store"
	"usher/venue/store/journal"
	inmemory "usher/venue/store/memory"
)

func opened(b *testing.B, st *store.Store) *Ledger {
	b.Helper()
	create(b, st)
	l := open(b, st)
	b.Cleanup(func() { l.Close(); st.Close() })
	return l
}

func onDisk(b *testing.B) *store.Store {
	b.Helper()
	st, err := journal.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return st.Store
}

// BenchmarkCall is the two rows of a call.
func BenchmarkCall(b *testing.B) {
	for _, kind := range []struct {
		name string
		open func(*testing.B) *store.Store
	}{
		{"memory", func(*testing.B) *store.Store { return inmemory.Open() }},
		{"disk", onDisk},
	} {
		b.Run(kind.name, func(b *testing.B) {
			l := opened(b, kind.open(b))
			e := entry(1)
			b.ReportAllocs()
			for b.Loop() {
				seq, err := l.RecordDecision(b.Context(), e, Batch{})
				if err == nil {
					err = l.RecordOutcome(b.Context(), seq, nil, Batch{})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(kind.name+"/64", func(b *testing.B) {
			l := opened(b, kind.open(b))
			e := entry(1)
			b.SetParallelism(32)
			var failed atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					seq, err := l.RecordDecision(b.Context(), e, Batch{})
					if err == nil {
						err = l.RecordOutcome(b.Context(), seq, nil, Batch{})
					}
					if err != nil {
						failed.Add(1)
					}
				}
			})
			if failed.Load() > 0 {
				b.Error(failed.Load(), "calls failed")
			}
		})
	}
}

// BenchmarkVerifyManyCheckpoints is a check against a file with as many checkpoints as come of a busy fortnight:
// it takes as long for each of them as for one.
func BenchmarkVerifyManyCheckpoints(b *testing.B) {
	l := opened(b, inmemory.Open())
	if _, err := l.Note(b.Context(), "note", struct{}{}, Batch{}); err != nil {
		b.Fatal(err)
	}
	c, err := l.Checkpoint(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "checkpoints")
	if err := os.WriteFile(file, []byte(strings.Repeat(c.Note, 20_000)), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := l.Verify(b.Context(), []string{file}); err != nil {
			b.Fatal(err)
		}
	}
}
