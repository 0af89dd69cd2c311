package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
)

func venueKey(t testing.TB, seed byte) ucan.Key {
	t.Helper()
	key, err := seeded(seed)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func seeded(seed byte) (ucan.Key, error) {
	return ucan.KeyFromSeed(bytes.Repeat([]byte{seed}, 32))
}

func create(t testing.TB, store Store) {
	t.Helper()
	if err := Create(t.Context(), store); err != nil {
		t.Fatal(err)
	}
}

// open opens the ledger of a store as the venue 1.
func open(t testing.TB, store Store, checkpoints ...string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), store, Options{Key: venueKey(t, 1), Checkpoints: checkpoints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func fresh(t testing.TB, checkpoints ...string) (*Ledger, *memory) {
	t.Helper()
	store := newMemory()
	create(t, store)
	return open(t, store, checkpoints...), store
}

func entry(n int) tools.Entry {
	return tools.Entry{
		Owner: "did:key:z6Mk", Actor: "carol", Via: []string{"dave"}, Operation: "v/ops/covia/write", Effects: true, Verdict: tools.Allowed,
		Needs: []tools.Requirement{{Ability: "crud/write", Resource: fmt.Sprintf("w/notes/%d", n), By: "crud on w/notes/"}},
		Input: json.RawMessage(fmt.Sprintf(`{"path":"w/notes/%d"}`, n)), Session: "01JDSESSION",
	}
}

// call writes the rows of a call.
func call(t testing.TB, l *Ledger, n int) (seq uint64) {
	t.Helper()
	seq, err := l.RecordDecision(t.Context(), entry(n), Batch{})
	if err == nil {
		err = l.RecordOutcome(t.Context(), seq, nil, Batch{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func verify(t testing.TB, l *Ledger, against ...string) Report {
	t.Helper()
	report, err := l.Verify(t.Context(), nil, against...)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestRowsSayWhatHappened(t *testing.T) {
	l, _ := fresh(t)
	denied := entry(2)
	denied.Verdict, denied.Reason, denied.Needs[0].Unmet, denied.Input = tools.Denied, "no\n\"ticket\" <é>", true, nil
	if _, err := l.RecordDecision(t.Context(), entry(1), Batch{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.RecordDecision(t.Context(), denied, Batch{}); err != nil {
		t.Fatal(err)
	}
	for of, failure := range map[uint64]error{1: errors.New("disk full")} {
		if err := l.RecordOutcome(t.Context(), of, failure, Batch{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.RecordOutcome(t.Context(), 2, fmt.Errorf("inner: %w", &caps.Denial{Operation: "x"}), Batch{}); err != nil {
		t.Fatal(err)
	}
	var rows []Row
	for row, err := range l.Rows(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Time.IsZero() {
			t.Errorf("row %d has no time", row.Seq)
		}
		row.Time = time.Time{}
		rows = append(rows, row)
	}
	first := entry(1)
	first.Digest, first.Input = rows[0].Digest, nil
	if len(first.Digest) != 64 {
		t.Errorf("the digest is %q", first.Digest)
	}
	want := []Row{
		{Seq: 1, Entry: &first},
		{Seq: 2, Entry: &denied},
		{Seq: 3, Of: 1, Outcome: outcomeFailed, Error: "disk full"},
		{Seq: 4, Of: 2, Outcome: OutcomeDenied, Error: rows[3].Error},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	report := verify(t, l)
	if report.Rows != 4 || report.Unfinished != 0 {
		t.Errorf("Verify = %+v", report)
	}
}

// Rows are encoded by hand: the result reads as what encoding/json writes.
func TestEncodingIsThatOfJSON(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\"b", "<&>", "\u2028\x00\x7f", "é", "\\"}))
	rapid.Check(t, func(t *rapid.T) {
		e := tools.Entry{
			Owner: text.Draw(t, "owner"), Actor: text.Draw(t, "actor"), Via: rapid.SliceOf(text).Draw(t, "via"),
			Operation: text.Draw(t, "operation"), Omitted: rapid.Int().Draw(t, "omitted"), Verdict: text.Draw(t, "verdict"),
			Reason: text.Draw(t, "reason"), Digest: text.Draw(t, "digest"), Effects: rapid.Bool().Draw(t, "effects"),
			Job: text.Draw(t, "job"), Session: text.Draw(t, "session"), BoundedBy: text.Draw(t, "boundedBy"), Schedule: text.Draw(t, "schedule"), Approval: text.Draw(t, "approval"),
			Needs: rapid.SliceOf(rapid.Custom(func(t *rapid.T) tools.Requirement {
				return tools.Requirement{
					Ability: text.Draw(t, "ability"), Resource: text.Draw(t, "resource"), By: text.Draw(t, "by"),
					Asked: rapid.Bool().Draw(t, "asked"), Unmet: rapid.Bool().Draw(t, "unmet"), Proofs: rapid.SliceOf(text).Draw(t, "proofs"),
				}
			})).Draw(t, "needs"),
		}
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		same(t, Row{Seq: 7, Time: at, Entry: &e}, appendRow(nil, 7, at, appendDecision(nil, &e)))
		of, failure := rapid.Uint64Range(1, 1<<62).Draw(t, "of"), text.Draw(t, "failure")
		same(t, Row{Seq: 8, Time: at, Of: of, Outcome: outcomeFailed, Error: failure}, appendRow(nil, 8, at, appendOutcome(nil, of, outcomeFailed, failure)))
	})
}

func same(t *rapid.T, row Row, got []byte) {
	want, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(want, &a) != nil || json.Unmarshal(got, &b) != nil || !cmp.Equal(a, b) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if strings.Contains(string(got), "\n") {
		t.Errorf("%q is more than a line", got)
	}
}

// The tree that grows by its peaks is that of tlog.
func TestTreeIsThatOfTlog(t *testing.T) {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) (out []tlog.Hash, err error) {
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	var grown tree
	for n := range int64(300) {
		row := []byte(fmt.Sprint(n))
		hashes, err := tlog.StoredHashes(n, row, read)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
		above := grown.add(tlog.RecordHash(row), nil)
		var want []byte
		for _, h := range hashes[1:] {
			want = append(want, h[:]...)
		}
		if string(above) != string(want) || len(above) != subtreeLength(uint64(n+1)) {
			t.Fatalf("row %d completes %x, want %x", n+1, above, want)
		}
		root, err := tlog.TreeHash(n+1, read)
		if err != nil || root != grown.root() {
			t.Fatalf("the root of %d rows is %v, want %v, %v", n+1, grown.root(), root, err)
		}
	}
}

// Inputs enter by a keyed digest, which is another for another owner.
func TestDigestIsKeyed(t *testing.T) {
	of := func(seed byte, change func(*tools.Entry)) string {
		d, err := newDigester(venueKey(t, seed))
		if err != nil {
			t.Fatal(err)
		}
		e := tools.Entry{Owner: "a", Operation: "op", Input: json.RawMessage(`{"pin":"0000"}`)}
		change(&e)
		if first := d.of(&e); first != d.of(&e) {
			t.Error("two digests of one input differ")
		}
		return d.of(&e)
	}
	seen := map[string]string{}
	for name, digest := range map[string]string{
		"as it is":          of(1, func(*tools.Entry) {}),
		"another venue":     of(2, func(*tools.Entry) {}),
		"another owner":     of(1, func(e *tools.Entry) { e.Owner = "b" }),
		"another operation": of(1, func(e *tools.Entry) { e.Operation = "oq" }),
		"another split":     of(1, func(e *tools.Entry) { e.Owner, e.Operation = "ao", "p" }),
		"another input":     of(1, func(e *tools.Entry) { e.Input = json.RawMessage(`{"pin":"0001"}`) }),
	} {
		if other, found := seen[digest]; found || len(digest) != 64 {
			t.Errorf("%s and %s have the digest %q", name, other, digest)
		}
		seen[digest] = name
	}
	if d := of(1, func(e *tools.Entry) { e.Input = nil }); d != "" {
		t.Errorf("no input has the digest %q", d)
	}
}

// Rows that come together are written together, each once, and verify.
func TestRowsAreGrouped(t *testing.T) { synctest.Test(t, testRowsAreGrouped) }

func testRowsAreGrouped(t *testing.T) {
	l, store := fresh(t)
	release := make(chan struct{})
	var first sync.Once
	store.hook(func(map[string][]byte) error { first.Do(func() { <-release }); return nil }, nil)
	store.calls = 0
	const callers = 64
	seqs := make([]uint64, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			var err error
			if seqs[i], err = l.RecordDecision(t.Context(), entry(i), Batch{}); err != nil {
				t.Error(err)
			}
		})
	}
	synctest.Wait()
	close(release)
	wg.Wait()
	if store.calls != 2 {
		t.Errorf("%d rows took %d batches, want 2: one that came alone, one of all that waited", callers, store.calls)
	}
	rows := make(map[uint64]string)
	for row, err := range l.Rows(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		rows[row.Seq] = row.Needs[0].Resource
	}
	for i, seq := range seqs {
		if want := fmt.Sprintf("w/notes/%d", i); rows[seq] != want {
			t.Errorf("row %d is on %q, want %q", seq, rows[seq], want)
		}
	}
}

// A batch goes with its row or not at all, and keeps no other row from being
// written.
func TestBatchGoesWithItsRow(t *testing.T) { synctest.Test(t, testBatchGoesWithItsRow) }

func testBatchGoesWithItsRow(t *testing.T) {
	l, store := fresh(t)
	ctx := t.Context()
	if _, err := l.RecordDecision(ctx, entry(1), Batch{Expect: map[string]uint64{"g/x": 0}, Put: map[string][]byte{"g/x": []byte("1")}}); err != nil {
		t.Fatal(err)
	}
	_, rev, _ := store.Get(ctx, "g/x")
	var moved *staleError
	if _, err := l.RecordDecision(ctx, entry(2), Batch{Expect: map[string]uint64{"g/x": rev + 1}, Put: map[string][]byte{"g/y": nil}}); !errors.As(err, &moved) || moved.Key != "g/x" {
		t.Errorf("Decided = %v, want that g/x has moved", err)
	}
	if _, rev, _ := store.Get(ctx, "g/y"); rev != 0 {
		t.Error("the batch was written, and its condition does not hold")
	}

	// In one group, only those whose condition fails are left out.
	release, entered := make(chan struct{}), make(chan struct{})
	var first sync.Once
	store.hook(func(map[string][]byte) error { first.Do(func() { close(entered); <-release }); return nil }, nil)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = l.RecordDecision(ctx, entry(0), Batch{}) })
	<-entered
	errs := make([]error, 32)
	for i := range errs {
		wg.Go(func() {
			with := Batch{Expect: map[string]uint64{"g/x": rev}, Put: map[string][]byte{fmt.Sprint("g/own/", i): nil}}
			switch i % 4 {
			case 1:
				with.Expect["g/x"]++
			case 2:
				with.Put["g/shared"] = []byte(fmt.Sprint(i))
			case 3:
				with = Batch{}
			}
			_, errs[i] = l.RecordDecision(ctx, entry(i), with)
		})
	}
	synctest.Wait()
	close(release)
	wg.Wait()
	store.hook(nil, nil)
	for i, err := range errs {
		if errors.As(err, &moved) != (i%4 == 1) || (err != nil) != (i%4 == 1) {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if report := verify(t, l); report.Rows != 26 {
		t.Errorf("%d rows, want 26", report.Rows)
	}
}

// A batch that the store refuses fails its own row and no other.
func TestRefusedBatchFailsAlone(t *testing.T) { synctest.Test(t, testRefusedBatchFailsAlone) }

func testRefusedBatchFailsAlone(t *testing.T) {
	l, store := fresh(t)
	refused := errors.New("too large")
	release, entered := make(chan struct{}), make(chan struct{})
	var first sync.Once
	store.hook(func(put map[string][]byte) error {
		first.Do(func() { close(entered); <-release })
		if _, bad := put["g/bad"]; bad {
			return refused
		}
		return nil
	}, nil)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = l.RecordDecision(t.Context(), entry(0), Batch{}) })
	<-entered
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			with := Batch{}
			if i == 3 {
				with.Put = map[string][]byte{"g/bad": nil}
			}
			_, errs[i] = l.RecordDecision(t.Context(), entry(i), with)
		})
	}
	synctest.Wait()
	close(release)
	wg.Wait()
	for i, err := range errs {
		if errors.Is(err, refused) != (i == 3) || (err != nil) != (i == 3) {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if report := verify(t, l); report.Rows != 6 {
		t.Errorf("%d rows, want 6", report.Rows)
	}
}

// Two processes that write one ledger never fork it.
func TestSecondWriterContinues(t *testing.T) {
	a, store := fresh(t)
	b := open(t, store)
	for i := range 20 {
		call(t, a, i)
		if i%3 == 0 {
			call(t, b, i)
		}
	}
	var wg sync.WaitGroup
	for _, l := range []*Ledger{a, b} {
		wg.Go(func() {
			for i := range 100 {
				call(t, l, i)
			}
		})
	}
	wg.Wait()
	if report := verify(t, a); report.Rows != 2*(20+7+200) || report.Unfinished != 0 {
		t.Errorf("Verify = %+v", report)
	}
}

// A write whose answer is lost is looked for, and nothing is stuck.
func TestLostAnswer(t *testing.T) {
	lost := errors.New("connection reset")
	t.Run("written", func(t *testing.T) {
		l, store := fresh(t)
		store.hook(nil, func() error { return lost })
		if seq, err := l.RecordDecision(t.Context(), entry(1), Batch{}); seq != 1 || err != nil {
			t.Errorf("Decided = %d, %v; the row was written", seq, err)
		}
		store.hook(nil, nil)
		if report := verify(t, l); report.Rows != 1 {
			t.Errorf("%d rows, want 1", report.Rows)
		}
	})
	t.Run("not written", func(t *testing.T) {
		l, store := fresh(t)
		store.hook(func(map[string][]byte) error { return lost }, nil)
		if _, err := l.RecordDecision(t.Context(), entry(1), Batch{}); !errors.Is(err, lost) {
			t.Errorf("Decided = %v, want %v", err, lost)
		}
		store.hook(nil, nil)
		if seq := call(t, l, 2); seq != 1 {
			t.Errorf("the next row is %d, want 1", seq)
		}
		verify(t, l)
	})
	t.Run("it failed inside", func(t *testing.T) {
		l, store := fresh(t)
		store.hook(func(map[string][]byte) error { panic("inside") }, nil)
		if _, err := l.RecordDecision(t.Context(), entry(1), Batch{}); err == nil {
			t.Error("a row is written by a store that failed inside")
		}
		store.hook(nil, nil)
		if seq := call(t, l, 2); seq != 1 {
			t.Errorf("the next row is %d, want 1", seq)
		}
		verify(t, l)
	})
}

func TestRowsAfterCloseAreRefused(t *testing.T) {
	l, _ := fresh(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.RecordDecision(t.Context(), entry(1), Batch{}); err == nil {
		t.Error("a closed ledger takes rows")
	}
}

// What was read from a page on is checked against the head, too.
func TestRowsFromAnywhere(t *testing.T) {
	l, store := fresh(t)
	for i := range 40 {
		call(t, l, i)
	}
	for from := uint64(0); from <= 81; from++ {
		want := max(from, 1)
		for row, err := range l.Rows(t.Context(), from) {
			if err != nil || row.Seq != want {
				t.Fatalf("from %d: row %d, %v; want %d", from, row.Seq, err, want)
			}
			want++
		}
		if want != 81 && from <= 80 {
			t.Errorf("from %d it ends before row %d", from, want)
		}
	}
	for before := uint64(0); before <= 81; before++ {
		want := uint64(80)
		if before > 0 {
			want = min(before-1, 80)
		}
		for row, err := range l.Last(t.Context(), before) {
			if err != nil || row.Seq != want {
				t.Fatalf("before %d: row %d, %v; want %d", before, row.Seq, err, want)
			}
			want--
		}
		if want != 0 {
			t.Errorf("before %d it ends at row %d", before, want)
		}
	}
	row := store.rows[rowKey(60)]
	row.Value[len(row.Value)-3] ^= 1
	for _, err := range l.Rows(context.Background(), 50) {
		if err != nil {
			if !errors.Is(err, ErrBroken) {
				t.Error(err)
			}
			return
		}
	}
	t.Error("a changed row was not found from row 50 on")
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The newest checkpoint of a file is held against the store when it is opened.
func TestOpenFindsRollBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoints")
	l, store := fresh(t, file)
	call(t, l, 1)
	old := store.copied(t)
	call(t, l, 2)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := len(notes(readFile(t, file), l.venue.String())); got != 1 {
		t.Errorf("the file has %d checkpoints, want 1", got)
	}
	opts := Options{Key: venueKey(t, 1), Checkpoints: []string{file}}
	if _, err := Open(t.Context(), old, opts); !errors.Is(err, ErrBroken) {
		t.Errorf("Open of an older state = %v, want ErrBroken", err)
	}
	empty := newMemory()
	create(t, empty)
	if _, err := Open(t.Context(), empty, opts); !errors.Is(err, ErrBroken) {
		t.Errorf("Open of a ledger begun anew = %v, want ErrBroken", err)
	}
	if _, err := Open(t.Context(), newMemory(), Options{Key: venueKey(t, 1)}); !errors.Is(err, ErrBroken) {
		t.Errorf("Open of an emptied ledger = %v, want ErrBroken", err)
	}
	other, forked := fresh(t)
	for i := range 4 { // more rows, and others
		call(t, other, 10+i)
	}
	if _, err := Open(t.Context(), forked, opts); !errors.Is(err, ErrBroken) {
		t.Errorf("Open of a ledger that was written anew = %v, want ErrBroken", err)
	}
	opts.Key = venueKey(t, 2)
	if _, err := Open(t.Context(), store, opts); err == nil {
		t.Error("Open takes another venue's ledger")
	}
}
