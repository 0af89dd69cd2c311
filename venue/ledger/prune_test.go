package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

func unhurried(context.Context) error { return nil }

// pruned prunes until nothing is left to prune.
func pruned(t testing.TB, l *Ledger, keep Keep) (rows uint64) {
	t.Helper()
	for {
		n, err := l.Prune(t.Context(), keep, unhurried)
		if err != nil {
			t.Fatal(err)
		}
		if rows += n; n == 0 {
			return rows
		}
	}
}

func signed(t testing.TB, l *Ledger) Checkpoint {
	t.Helper()
	c, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// calls writes n calls, with a checkpoint behind each third one.
func calls(t testing.TB, l *Ledger, n int) (all []Checkpoint) {
	t.Helper()
	for i := range n {
		call(t, l, i)
		if i%3 == 2 {
			all = append(all, signed(t, l))
		}
	}
	return all
}

func exported(t testing.TB, l *Ledger) []byte {
	t.Helper()
	var lines bytes.Buffer
	if _, err := l.Export(t.Context(), &lines); err != nil {
		t.Fatal(err)
	}
	return lines.Bytes()
}

func listed(t testing.TB, r *Reader, from uint64) (all []uint64) {
	t.Helper()
	for row, err := range r.Rows(t.Context(), from) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row.Seq)
	}
	return all
}

// What is left of a ledger whose first rows were pruned holds: all that it signed
// before still counts, each row is proved as before, and the rows that are gone are
// told.
func TestPruned(t *testing.T) {
	l, store := fresh(t)
	kept := calls(t, l, 30) // 60 rows
	before := map[uint64]Proof{}
	for _, seq := range []uint64{43, 54, 60} {
		p, err := l.Prove(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		before[seq] = p
	}
	if n := pruned(t, l, Keep{Rows: 20}); n != 36 { // up to a checkpoint
		t.Errorf("pruned %d rows, want 36", n)
	}
	kept = append(kept, calls(t, l, 30)...)
	l.Close()
	l = open(t, store)
	if n := pruned(t, l, Keep{Rows: 60}); n != 25 { // 36 to 61: the note is one of 121
		t.Errorf("pruned %d rows, want 25", n)
	}
	report := verify(t, l)
	if report.Pruned != 61 || report.PrunedBy != 122 || report.Rows != 122 || report.Signed != 122 || report.Unfinished != 0 {
		t.Errorf("Verify = %+v", report)
	}
	out := exported(t, l)
	for _, c := range kept {
		if got := verify(t, l, c.Note); got.Checkpoints != report.Checkpoints+1 {
			t.Errorf("the checkpoint over %d rows: %+v", c.Size, got)
		}
		if got, err := VerifyExport(bytes.NewReader(out), l.venue, c.Note); err != nil || got.Pruned != 61 || got.PrunedBy != 122 {
			t.Errorf("the export against the checkpoint over %d rows: %+v, %v", c.Size, got, err)
		}
	}
	if got := listed(t, &l.Reader, 0); got[0] != 62 || len(got) != 61 {
		t.Errorf("Rows = %d, of %d", got[0], len(got))
	}
	last := uint64(0)
	for row, err := range l.Last(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = row.Seq
	}
	if last != 62 {
		t.Errorf("Last ends with %d", last)
	}
	for seq := range uint64(122) {
		p, err := l.Prove(t.Context(), seq+1)
		if seq+1 <= 61 {
			if err == nil || !strings.Contains(err.Error(), "rows 1 to 61 of the audit ledger were pruned, as row 122 says") {
				t.Errorf("Prove(%d) = %v", seq+1, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("Prove(%d): %v", seq+1, err)
		}
		c, err := l.open(p.Checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(p.Hashes, int64(c.Size), c.Root, int64(p.Index), tlog.RecordHash([]byte(p.Row))); err != nil {
			t.Errorf("the proof of row %d: %v", seq+1, err)
		}
	}
	for seq, p := range before { // made before, they hold under what was signed then
		c, err := l.open(p.Checkpoint)
		if err != nil || tlog.CheckRecord(p.Hashes, int64(c.Size), c.Root, int64(p.Index), tlog.RecordHash([]byte(p.Row))) != nil {
			t.Errorf("the old proof of row %d: %v", seq, err)
		}
	}
	if rows := store.keys(func(key string) bool { return strings.HasPrefix(key, rowPrefix) }); len(rows) != 61 {
		t.Errorf("%d rows are stored", len(rows))
	}
}

func TestPruneByAge(t *testing.T) {
	store := newMemory()
	create(t, store)
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	l, err := Open(t.Context(), store, Options{Key: venueKey(t, 1), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 5 {
		calls(t, l, 6)
		now = now.Add(24 * time.Hour)
	}
	if n := pruned(t, l, Keep{}); n != 0 {
		t.Errorf("nothing to keep by pruned %d rows", n)
	}
	if n := pruned(t, l, Keep{Before: now.Add(-72 * time.Hour)}); n != 24 {
		t.Errorf("pruned %d rows, want those of two days", n)
	}
	verify(t, l)
}

// A call that runs stays, with all behind it; one of an earlier process gets its
// outcome, which is unknown, and then goes.
func TestOpenCallsAreNotPruned(t *testing.T) {
	l, store := fresh(t)
	calls(t, l, 3)
	if _, err := l.RecordDecision(t.Context(), entry(1), Batch{}); err != nil { // row 7
		t.Fatal(err)
	}
	late, err := l.RecordDecision(t.Context(), entry(2), Batch{}) // row 8, ended far behind
	if err != nil {
		t.Fatal(err)
	}
	calls(t, l, 30)
	if err := l.RecordOutcome(t.Context(), late, nil, Batch{}); err != nil {
		t.Fatal(err)
	}
	signed(t, l)
	if n := pruned(t, l, Keep{Rows: 10}); n != 6 {
		t.Errorf("pruned %d rows, want those before the call that runs", n)
	}
	if got := verify(t, l); got.Unfinished != 1 {
		t.Errorf("Verify = %+v", got)
	}
	l.Close()
	l = open(t, store)
	if n := pruned(t, l, Keep{Rows: 10}); n < 50 {
		t.Errorf("pruned %d rows", n)
	}
	if got := verify(t, l); got.Unfinished != 0 {
		t.Errorf("Verify = %+v", got)
	}
	found := false
	for row, err := range l.Rows(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		found = found || row.Of == 7 && row.Outcome == OutcomeUnknown
	}
	if !found {
		t.Error("the call that was cut off has no outcome")
	}
}

// Whoever removes the first rows, and says as well as they can that these were
// pruned, is found: what says so has to be signed.
func TestCutIsNotPruned(t *testing.T) {
	for name, cut := range map[string]func(t *testing.T, l *Ledger, m *memory){
		"removed": func(t *testing.T, _ *Ledger, m *memory) {},
		"a record of it": func(t *testing.T, _ *Ledger, m *memory) {
			p := PruneNote{To: 18, Note: 30}
			m.set(prunedKey, p.record())
		},
		"more than was pruned": func(t *testing.T, l *Ledger, m *memory) {
			pruned(t, l, Keep{Rows: 45})
			p := PruneNote{To: 18, Note: 61}
			m.set(prunedKey, p.record())
		},
		"an unsigned note": func(t *testing.T, l *Ledger, m *memory) {
			root, err := tlog.TreeHash(18, l.hashes(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			p := PruneNote{From: 1, To: 18, Root: root}
			if p.Note, err = l.Note(t.Context(), notePruned, p, Batch{}); err != nil {
				t.Fatal(err)
			}
			m.set(prunedKey, p.record())
		},
		"pruned, and the hashes removed": func(t *testing.T, l *Ledger, m *memory) {
			pruned(t, l, Keep{Rows: 45})
			maps.DeleteFunc(m.rows, func(key string, _ record) bool { return strings.HasPrefix(key, hashPrefix) })
		},
		"pruned, and the record removed": func(t *testing.T, l *Ledger, m *memory) {
			pruned(t, l, Keep{Rows: 45})
			delete(m.rows, prunedKey)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, m := fresh(t)
			calls(t, l, 30)
			hashes := map[int64]tlog.Hash{}
			var last Checkpoint
			all, err := l.checkpoints(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range all {
				if c.Size <= 18 {
					if err := continues(last, c, noteReads(l.hashes(t.Context()), hashes)); err != nil {
						t.Fatal(err)
					}
					last = c
				}
			}
			cut(t, l, m)
			m = m.copied(t) // with hashes that are right, as whoever cuts could keep them
			if !strings.Contains(name, "hashes") {
				for index, h := range hashes {
					m.set(hashKey(index), h[:])
				}
			}
			for seq := range uint64(18) {
				delete(m.rows, rowKey(seq+1))
			}
			if report, err := NewReader(m, l.venue).Verify(t.Context(), nil); !errors.Is(err, ErrBroken) {
				t.Errorf("Verify = %+v, %v; want ErrBroken", report, err)
			}
			opened, err := Open(t.Context(), m, Options{Key: venueKey(t, 1)})
			if err == nil {
				opened.Close()
			}
			if !errors.Is(err, ErrBroken) && name != "removed" && name != "pruned, and the record removed" { // which only reading finds
				t.Errorf("Open = %v; want ErrBroken", err)
			}
		})
	}
}

// set changes a value behind the ledger's back.
func (m *memory) set(key string, value []byte) {
	m.rev++
	m.rows[key] = record{Key: key, Value: value, Rev: m.rev}
}

// After a crash at any write of a pruning the ledger holds, and the next pruning
// ends what was begun.
func TestCrashWhilePruning(t *testing.T) {
	for n := 0; ; n++ {
		l, store := fresh(t)
		kept := calls(t, l, 300)
		left := n
		crash := errors.New("crash")
		store.hook(func(map[string][]byte) error {
			if left--; left < 0 {
				return crash
			}
			return nil
		}, nil)
		_, err := l.Prune(t.Context(), Keep{Rows: 20}, unhurried)
		store.hook(nil, nil)
		after := store.copied(t)
		l.Close()
		l = open(t, after)
		verify(t, l, kept[0].Note, kept[50].Note)
		pruned(t, l, Keep{Rows: 20})
		if report := verify(t, l, kept[0].Note, kept[50].Note); report.Pruned < 560 {
			t.Fatalf("after a crash at write %d: %+v", n, report)
		}
		if rows := after.keys(func(key string) bool { return strings.HasPrefix(key, rowPrefix) }); len(rows) > 40 {
			t.Fatalf("after a crash at write %d %d rows are stored", n, len(rows))
		}
		if err == nil {
			if n < 5 {
				t.Errorf("a pruning has %d writes", n)
			}
			return
		}
	}
}

// Any change of what is left of pruned rows is found, in the store and in an export.
func TestTamperingWithWhatIsLeft(t *testing.T) {
	l, m := fresh(t)
	calls(t, l, 30)
	pruned(t, l, Keep{Rows: 30})
	calls(t, l, 10)
	pruned(t, l, Keep{Rows: 30})
	out := exported(t, l)
	keys := m.keys(func(key string) bool { return strings.HasPrefix(key, hashPrefix) || key == prunedKey })
	if len(keys) < 10 {
		t.Fatalf("%d records are left of pruned rows", len(keys))
	}
	for _, key := range keys {
		for name, change := range map[string]func(*memory){
			"changed": func(m *memory) {
				value := slices.Clone(m.rows[key].Value)
				value[len(value)-1] ^= 1
				m.set(key, value)
			},
			"removed": func(m *memory) { delete(m.rows, key) },
			"cut":     func(m *memory) { m.set(key, m.rows[key].Value[:len(m.rows[key].Value)-1]) },
		} {
			m := m.copied(t)
			change(m)
			if report, err := NewReader(m, l.venue).Verify(t.Context(), nil); !errors.Is(err, ErrBroken) {
				t.Errorf("%q %s: Verify = %+v, %v; want ErrBroken", key, name, report, err)
			}
		}
	}
	line := bytes.IndexByte(out, '\n')
	for i := range line + 1 {
		if testing.Short() && i%7 != 0 && i < line-20 {
			continue
		}
		changed := slices.Clone(out)
		changed[i] ^= 0x20
		if report, err := VerifyExport(bytes.NewReader(changed), l.venue); !errors.Is(err, ErrBroken) {
			t.Fatalf("byte %d of the export, %q: %+v, %v; want ErrBroken", i, out[max(0, i-20):i+1], report, err)
		}
	}
}

// A ledger that is pruned now and then is the ledger that is not: its root, and the
// proofs of the rows that it has.
func TestPrunedTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
		store := newMemory()
		create(t, store)
		l, err := Open(t.Context(), store, Options{Key: venueKey(t, 1), Now: func() time.Time { return now }})
		if err != nil {
			rt.Fatal(err)
		}
		defer l.Close()
		var rows []string
		var all []Checkpoint
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"calls", "checkpoint", "prune"}).Draw(rt, "step") {
			case "calls":
				for i := range rapid.IntRange(1, 20).Draw(rt, "calls") {
					call(t, l, i)
				}
			case "checkpoint":
				all = append(all, signed(t, l))
			case "prune":
				keep := rapid.Uint64Range(1, 100).Draw(rt, "keep")
				for row, err := range l.Rows(t.Context(), uint64(len(rows))+1) {
					if err != nil {
						rt.Fatal(err)
					}
					_, raw, err := l.record(t.Context(), row.Seq)
					if err != nil {
						rt.Fatal(err)
					}
					rows = append(rows, string(raw))
				}
				pruned(t, l, Keep{Rows: keep})
			}
		}
		for row, err := range l.Rows(t.Context(), uint64(len(rows))+1) {
			if err != nil {
				rt.Fatal(err)
			}
			_, raw, err := l.record(t.Context(), row.Seq)
			if err != nil {
				rt.Fatal(err)
			}
			rows = append(rows, string(raw))
		}
		var leaves []tlog.Hash
		for i, row := range rows {
			hashes, err := tlog.StoredHashes(int64(i), []byte(row), tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
				out := make([]tlog.Hash, len(at))
				for i := range at {
					out[i] = leaves[at[i]]
				}
				return out, nil
			}))
			if err != nil {
				rt.Fatal(err)
			}
			leaves = append(leaves, hashes...)
		}
		twin := tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
			out := make([]tlog.Hash, len(at))
			for i := range at {
				out[i] = leaves[at[i]]
			}
			return out, nil
		})
		var notes []string
		for _, c := range all {
			notes = append(notes, c.Note)
			if root, err := tlog.TreeHash(int64(c.Size), twin); err != nil || root != c.Root {
				rt.Fatalf("the checkpoint over %d rows is not of all of them: %v", c.Size, err)
			}
		}
		report, err := l.Verify(t.Context(), nil, notes...)
		if err != nil {
			rt.Fatal(err)
		}
		if root, err := tlog.TreeHash(int64(len(rows)), twin); err != nil || root.String() != report.Root {
			rt.Fatalf("the root over %d rows is %s, want %s, %v", len(rows), report.Root, root, err)
		}
		for seq := report.Pruned + 1; seq <= uint64(len(rows)); seq++ {
			p, err := l.Prove(t.Context(), seq)
			if err != nil {
				rt.Fatal(err)
			}
			c, err := l.open(p.Checkpoint)
			if err != nil {
				rt.Fatal(err)
			}
			want, err := tlog.ProveRecord(int64(c.Size), int64(seq-1), twinOr(twin, &l.Reader, c.Size, uint64(len(rows)), t))
			if err != nil || fmt.Sprint(p.Hashes) != fmt.Sprint(want) {
				rt.Fatalf("the proof of row %d is %v, want %v, %v", seq, p.Hashes, want, err)
			}
		}
	})
}

// twinOr is the twin where it has all rows of the checkpoint.
func twinOr(twin tlog.HashReader, r *Reader, size, rows uint64, t *testing.T) tlog.HashReader {
	if size <= rows {
		return twin
	}
	return r.hashes(t.Context())
}
