package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/venue/store"
	"usher/venue/store/badger"
)

// TestKilledWhileMadeAnew opens a folder whose process was killed while it made the index anew: rows
// that are new are in its tables, and older ones are not.
func TestKilledWhileMadeAnew(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	for i := range 40 {
		rows := make(map[string]string)
		for n := range 100 {
			rows[fmt.Sprintf("%02d/%03d", i, n)] = strings.Repeat("v", 1000)
		}
		put(t, j, rows)
	}
	want, kept := rowsOf(t, j), []store.VersionRow(nil)
	for row, err := range store.Rows(t.Context(), j, "3", "") {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, store.VersionRow{Op: store.Op{Kind: store.OpPut, Key: row.Key, Value: row.Value}, Version: row.Rev})
	}
	shut(t, j)
	part, err := badger.Open(filepath.Join(dir, indexDir, "2"), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = part.Replay(func(yield func(store.VersionRow, error) bool) {
		for i := range kept {
			if !yield(kept[len(kept)-1-i], nil) {
				return
			}
		}
	})
	if err = errors.Join(err, part.Close(), os.Remove(filepath.Join(dir, indexDir, "2", "closed.json"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, rowsOf(t, open(t, dir, nil))); diff != "" {
		t.Errorf("rows after the kill (-want +got):\n%.500s", diff)
	}
}

// lose has the index forget a row without a word.
func lose(t *testing.T, j *Journal, key string) {
	t.Helper()
	if err := j.index.Write(j.now.position, []store.Op{{Kind: store.OpDelete, Key: key}}); err != nil {
		t.Fatal(err)
	}
	j.writer.recent = recent{}
}

// losing is an index that loses a row, and says so, behind the back of whoever checks it.
type losing struct {
	Index
	after func()
}

func (l *losing) Snapshot() store.EngineSnapshot {
	s := l.Index.Snapshot()
	if l.after != nil {
		l.after()
		l.after = nil
	}
	return s
}

func TestDoubtWhileChecked(t *testing.T) {
	j := open(t, t.TempDir(), nil)
	put(t, j, map[string]string{"a": "1"})
	put(t, j, map[string]string{"b": "2"})
	put(t, j, map[string]string{"c": "3"})
	want := rowsOf(t, j)
	j.mu.Lock()
	is := j.index
	j.index = &losing{is, func() {
		if err := is.Write(4, []store.Op{{Kind: store.OpDelete, Key: "a"}}); err != nil {
			t.Error(err)
		}
		j.doubtful(errors.New("a compaction lost a table"))
	}}
	j.mu.Unlock()
	first := errors.New("first")
	j.doubt.Store(&first)
	if err := j.settle(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, rowsOf(t, j)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// gone is an index that has lost a row, and says so once it was asked for.
type gone struct {
	Index
	journal *Journal
}

func (g *gone) Get(key string) ([]byte, uint64, error) {
	g.journal.doubtful(errors.New("a compaction lost a table"))
	return nil, 0, nil
}

func (g *gone) Snapshot() store.EngineSnapshot { return &goneView{g.Index.Snapshot(), g} }

type goneView struct {
	store.EngineSnapshot
	of *gone
}

func (v *goneView) Get(key string) ([]byte, uint64, error) { return v.of.Get(key) }

// TestLossWhileRead loses a row in the moment in which it is read: by itself, in a view, and by a
// write that expects it not to be there.
func TestLossWhileRead(t *testing.T) {
	for name, look := range map[string]func(t *testing.T, j *Journal) uint64{
		"get": func(t *testing.T, j *Journal) uint64 {
			_, rev, err := engine{j}.Get("a")
			if err != nil {
				t.Error(err)
			}
			return rev
		},
		"view": func(t *testing.T, j *Journal) uint64 {
			v := engine{j}.Snapshot()
			defer v.End()
			_, rev, err := v.Get("a")
			if err != nil {
				t.Error(err)
			}
			return rev
		},
		"expect": func(t *testing.T, j *Journal) uint64 {
			moved, err := engine{j}.Apply([]store.Op{{Kind: store.OpExpect, Key: "a"}, {Kind: store.OpPut, Key: "a", Value: []byte("2")}})
			if moved != "a" || err != nil {
				t.Errorf("a write that expects nothing at a: moved %q, %v", moved, err)
			}
			return 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t, t.TempDir(), nil)
			put(t, j, map[string]string{"a": "1"})
			want := rowsOf(t, j)
			lose(t, j, "a")
			j.mu.Lock()
			j.index = &gone{j.index, j}
			j.mu.Unlock()
			if rev := look(t, j); rev != 1 {
				t.Errorf("revision %d, want 1", rev)
			}
			if diff := cmp.Diff(want, rowsOf(t, j)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDoubtSettledAtOnce has others settle a doubt the moment that its reader lets go of the index:
// what was read before is read again all the same.
func TestDoubtSettledAtOnce(t *testing.T) {
	j := open(t, t.TempDir(), nil)
	v, _ := j.view()
	defer v.End()
	for name, read := range map[string]func(once func()) error{
		"get":  func(once func()) error { return j.read(func(Index) error { once(); return nil }) },
		"view": func(once func()) error { return v.read(func(store.View) error { once(); return nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20_000 {
				var settled sync.WaitGroup
				times := 0
				err := read(func() {
					if times++; times > 1 {
						return
					}
					j.doubtful(errors.New("a compaction lost a table"))
					ready := make(chan bool)
					settled.Go(func() {
						for close(ready); !j.mu.TryLock(); {
							runtime.Gosched()
						}
						j.doubt.Store(nil)
						j.mu.Unlock()
					})
					<-ready
				})
				settled.Wait()
				if times < 2 || err != nil {
					t.Fatalf("it was read %d times, and then %v", times, err)
				}
			}
		})
	}
}

// leftIndex tells how an index was let go of.
type leftIndex struct {
	Index
	how chan<- string
}

func (l *leftIndex) Close() error {
	l.how <- "closed"
	return l.Index.Close()
}

func (l *leftIndex) Abandon() error {
	l.how <- "abandoned"
	return l.Index.Abandon()
}

// TestIndexOfWhichSomethingIsMissing is never closed as if it were whole: its folder may stay where
// it cannot be removed, and be opened again.
func TestIndexOfWhichSomethingIsMissing(t *testing.T) {
	for name, leave := range map[string]func(*Journal) error{
		"made anew": func(j *Journal) error { return j.settle() },
		"closed":    func(j *Journal) error { return j.closeIndex() },
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t, t.TempDir(), nil)
			put(t, j, map[string]string{"a": "1"})
			lose(t, j, "a")
			how := make(chan string, 1)
			j.mu.Lock()
			j.index = &leftIndex{j.index, how}
			j.mu.Unlock()
			why := errors.New("a compaction lost a table")
			j.doubt.Store(&why)
			if err := leave(j); err != nil {
				t.Fatal(err)
			}
			if got := <-how; got != "abandoned" {
				t.Errorf("the index is %s", got)
			}
		})
	}
}

// TestClosedInDoubt closes a store before its index was checked.
func TestClosedInDoubt(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	put(t, j, map[string]string{"revoked/a": "1"})
	put(t, j, map[string]string{"b": "2"})
	want := rowsOf(t, j)
	lose(t, j, "revoked/a")
	why := errors.New("a compaction lost a table")
	j.doubt.Store(&why)
	shut(t, j)
	if diff := cmp.Diff(want, rowsOf(t, open(t, dir, nil))); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func atOnce(context.Context) error { return nil }

// TestWriteOverLostRow writes a row that the index has lost before anybody noticed, so that the sum
// in the record counts it twice.
func TestWriteOverLostRow(t *testing.T) {
	dir := t.TempDir()
	var told []string
	j := open(t, dir, &told)
	put(t, j, map[string]string{"a": "1"})
	put(t, j, map[string]string{"b": "2"})
	lose(t, j, "a")
	put(t, j, map[string]string{"a": "3"})
	want := map[string]string{"a": "3 1 3", "b": "2 1 2"}
	if _, err := j.scrub(t.Context(), atOnce); !errors.Is(err, errDiffers) {
		t.Fatalf("scrub() = %v, want it to see a difference", err)
	}
	if got := rowsOf(t, j); !cmp.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	put(t, j, map[string]string{"c": "4"})
	if _, err := j.scrub(t.Context(), atOnce); err != nil {
		t.Errorf("scrub() = %v", err)
	}
	if len(told) == 0 {
		t.Error("nobody was told")
	}
	shut(t, j)
	j = open(t, dir, nil)
	if _, err := j.scrub(t.Context(), atOnce); err != nil {
		t.Errorf("scrub() of the store opened anew = %v", err)
	}
}

// TestOpenFailsLate opens a folder whose index can be made only later.
func TestOpenFailsLate(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	put(t, j, map[string]string{"a": "1"})
	shut(t, j)
	index := filepath.Join(dir, indexDir)
	if err := errors.Join(os.RemoveAll(index), os.Symlink(filepath.Join(dir, "nowhere", "far"), index)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if j, err := Open(dir, nil); err == nil {
			shut(t, j)
			t.Fatal("Open() without a place for the index succeeded")
		} else if strings.Contains(err.Error(), "lock") {
			t.Fatalf("Open() = %v: the one before has left something open", err)
		}
	}
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, open(t, dir, nil)); len(got) != 1 {
		t.Errorf("rows %v", got)
	}
}

// TestLeftOver removes what a process that was killed has left half written.
func TestLeftOver(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	put(t, j, map[string]string{"a": "1"})
	shut(t, j)
	left := []string{".new-1", snapshotsDir + "/.new-2", archiveDir + "/.new-3"}
	for _, name := range left {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("half"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, open(t, dir, nil))
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

// TestStartOfFrame changes each byte of the start of a frame, and one of the zeros behind its record.
func TestStartOfFrame(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	j := open(t, base, nil)
	var ends []int64
	for n := range 4 {
		put(t, j, map[string]string{fmt.Sprint(n): strings.Repeat("v", n)})
		ends = append(ends, endOf(t, base).offset)
	}
	shut(t, j)
	if err := errors.Join(os.RemoveAll(filepath.Join(base, indexDir)), os.Remove(filepath.Join(base, endsFile))); err != nil {
		t.Fatal(err)
	}
	changed := []int64{ends[2] - 1}
	for n := range int64(frameHead) {
		changed = append(changed, ends[1]+n, ends[2]+n) // the last has nothing behind it
	}
	for _, at := range changed {
		for _, bit := range []byte{1, 0x80} {
			dir := filepath.Join(t.TempDir(), "harmed")
			copyFolder(t, base, dir, nil)
			if err := edit(endOf(t, dir).last.path, at, func(b []byte) { b[0] ^= bit }, 1); err != nil {
				t.Fatal(err)
			}
			j, err := Open(dir, nil)
			if _, ok := errors.AsType[*DamageError](err); !ok {
				t.Errorf("byte %d: Open() = %v, want damage", at, err)
			}
			if err == nil {
				shut(t, j)
			}
		}
	}
}

func endOf(t *testing.T, dir string) tail {
	t.Helper()
	all, err := segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	end, err := walk(all, nothing)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// TestMadeAnewWhileWritten makes the index anew while a record is half written to the journal.
func TestMadeAnewWhileWritten(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	put(t, j, map[string]string{"a": "1"})
	from := endOf(t, dir)
	put(t, j, map[string]string{"b": "2"})
	half := endOf(t, dir)
	raw, err := os.ReadFile(half.last.path)
	if err != nil {
		t.Fatal(err)
	}
	record := raw[from.offset:half.offset]
	if err := edit(half.last.path, half.offset, func(b []byte) { copy(b, record) }, len(record)); err != nil {
		t.Fatal(err)
	}
	want := rowsOf(t, j)
	lose(t, j, "a")
	j.doubtful(errors.New("a compaction lost a table"))
	if diff := cmp.Diff(want, rowsOf(t, j)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	put(t, j, map[string]string{"c": "3"}) // over the half
	want = rowsOf(t, j)
	shut(t, j)
	if diff := cmp.Diff(want, rowsOf(t, open(t, dir, nil))); diff != "" {
		t.Errorf("rows of the store opened anew (-want +got):\n%s", diff)
	}
}

// endsWhen is a context that ends when something is so.
type endsWhen struct {
	context.Context
	so func() bool
}

func (e endsWhen) Err() error {
	if e.so() {
		return context.Canceled
	}
	return nil
}

// TestSnapshotStopped stops a snapshot while it is read back, as Close does.
func TestSnapshotStopped(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	put(t, j, map[string]string{"a": "1"})
	written := func() bool {
		all, err := snapshots(dir)
		return err == nil && len(all) > 0
	}
	j.mu.RLock() // no doubt is settled meanwhile
	defer j.mu.RUnlock()
	if _, err := j.TakeSnapshot(endsWhen{t.Context(), written}); !errors.Is(err, context.Canceled) {
		t.Errorf("TakeSnapshot() = %v, want it stopped", err)
	}
	if doubt := j.doubt.Load(); doubt != nil {
		t.Errorf("the index is in doubt: %v", *doubt)
	}
	if written() {
		t.Error("a snapshot that was not read back is there")
	}
}

// TestPruneDamaged goes on removing what is too old where a snapshot cannot be read.
func TestPruneDamaged(t *testing.T) {
	dir := t.TempDir()
	later, sure := time.Now().Add(2*time.Hour), false
	j, err := Open(dir, &Options{Keep: time.Hour, Sure: func() (time.Time, bool) { return later, sure }})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, j)
	var last uint64
	for n := range 5 {
		put(t, j, map[string]string{"a": fmt.Sprint(n)})
		if last, err = j.TakeSnapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all, err := snapshots(dir); err != nil || n == 1 && os.Truncate(all[1].path, 9) != nil {
			t.Fatal(err)
		}
	}
	if all, err := snapshots(dir); err != nil || len(all) != 5 {
		t.Errorf("while the clock is in doubt: snapshots %v, %v; want all five", all, err)
	}
	sure = true
	if err := j.archive(); err != nil {
		t.Fatal(err)
	}
	all, err := snapshots(dir)
	if err != nil || len(all) != 2 || all[1].position != last {
		t.Errorf("snapshots %v, %v; want the last two", all, err)
	}
}

// TestRest: an index that lost something is made anew in memory, goes back to disk after a while, and
// is there when the folder is opened again.
func TestRest(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	put(t, j, map[string]string{"a": "1"})
	put(t, j, map[string]string{"b": "2"})
	lose(t, j, "a")
	why := errors.New("a compaction lost a table")
	j.doubt.Store(&why)
	if err := j.settle(); err != nil || !j.resting {
		t.Fatalf("settle = %v, resting %v", err, j.resting)
	}
	put(t, j, map[string]string{"c": "3"})
	want := rowsOf(t, j)
	if err := j.rise(); err != nil || !j.resting {
		t.Errorf("at once: rise = %v, resting %v", err, j.resting)
	}
	j.tried = time.Now().Add(-calm)
	if err := j.rise(); err != nil || j.resting {
		t.Errorf("later: rise = %v, resting %v", err, j.resting)
	}
	if diff := cmp.Diff(want, rowsOf(t, j)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	put(t, j, map[string]string{"d": "4"})
	want = rowsOf(t, j)
	shut(t, j)
	again := open(t, dir, nil)
	if again.index.IsSuspect() || again.resting {
		t.Errorf("opened again: suspect %v, resting %v", again.index.IsSuspect(), again.resting)
	}
	if diff := cmp.Diff(want, rowsOf(t, again)); diff != "" {
		t.Errorf("rows, opened again (-want +got):\n%s", diff)
	}
}
