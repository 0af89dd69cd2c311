package badger

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"usher/venue/store"
)

// TestCompactionForgets shows in Badger alone that a compaction whose tables cannot be written
// deletes what they were made from (UPSTREAM.md). When it fails, Badger has mended that: the watch is
// needed no more.
func TestCompactionForgets(t *testing.T) {
	db := severalTables(t, badger.DefaultOptions(t.TempDir()).WithLogger(nil))
	defer db.Close()
	block(t, db)
	if err := db.Flatten(1); err != nil {
		t.Fatalf("Flatten tells of it: %v", err)
	}
	err := db.View(func(txn *badger.Txn) error {
		_, err := txn.Get([]byte("k7"))
		return err
	})
	if !errors.Is(err, badger.ErrKeyNotFound) {
		t.Errorf("Get = %v: the row is there", err)
	}
}

// severalTables opens a store with rows in tables of two levels.
func severalTables(t *testing.T, o badger.Options) *badger.DB {
	t.Helper()
	for n := range 3 {
		db, err := badger.Open(o.WithLogger(nil).WithNumCompactors(0).WithCompactL0OnClose(n == 0))
		if err != nil {
			t.Fatal(err)
		}
		for k := range 100 {
			err := errors.Join(err, db.Update(func(txn *badger.Txn) error {
				return txn.Set(fmt.Appendf(nil, "k%d", k), fmt.Append(nil, n))
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := badger.Open(o.WithNumCompactors(0))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// block takes the names of the next tables, as if none could be written.
func block(t *testing.T, db *badger.DB) {
	t.Helper()
	last := uint64(0)
	for _, table := range db.Tables() {
		last = max(last, table.ID)
	}
	for id := last + 1; id < last+20; id++ {
		if err := os.WriteFile(table.NewFilename(id, db.Opts().Dir), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWatch: what a compaction loses is told, and one that loses nothing tells nothing.
func TestWatch(t *testing.T) {
	for _, harm := range []bool{false, true} {
		t.Run(fmt.Sprint("harm ", harm), func(t *testing.T) {
			var told []error
			w := newWatch(&Options{Doubt: func(err error) { told = append(told, err) }})
			db := severalTables(t, badger.DefaultOptions(t.TempDir()).WithLogger(w))
			defer db.Close()
			w.begin(db)
			defer w.stop()
			if harm {
				block(t, db)
			}
			if err := db.Flatten(1); err != nil {
				t.Fatal(err)
			}
			if len(w.compactions) > 0 || w.open.Load() > 0 {
				t.Errorf("it still waits for %v", w.compactions)
			}
			switch {
			case !harm && told != nil:
				t.Errorf("told %v of a compaction that went well", told)
			case harm && (len(told) != 1 || !strings.Contains(told[0].Error(), "lost 1 of the tables")):
				t.Errorf("told %v of one that lost its table", told)
			}
		})
	}
}

// gap is a watch's logger that stops Badger where it has removed the tables of a compaction and not
// yet told that it is done.
type gap struct {
	*watch
	in func()
}

func (g *gap) Debugf(format string, args ...any) {
	if format == lineDone && g.db != nil {
		g.in()
	}
	g.watch.Debugf(format, args...)
}

// TestReadBeforeTold reads what a compaction has lost before that is told: whoever has read waits
// until it is.
func TestReadBeforeTold(t *testing.T) {
	for _, harm := range []bool{false, true} {
		t.Run(fmt.Sprint("harm ", harm), func(t *testing.T) {
			var told atomic.Bool
			w := newWatch(&Options{Doubt: func(error) { told.Store(true) }})
			type seen struct{ there, told bool }
			read, saw := make(chan struct{}), make(chan seen, 1)
			var db *badger.DB
			g := &gap{w, func() {
				go func() {
					err := db.View(func(txn *badger.Txn) error {
						_, err := txn.Get([]byte("k7"))
						return err
					})
					close(read)
					w.sure()
					saw <- seen{err == nil, told.Load()}
				}()
				<-read
			}}
			db = severalTables(t, badger.DefaultOptions(t.TempDir()).WithLogger(g))
			defer db.Close()
			w.begin(db)
			defer w.stop()
			if harm {
				block(t, db)
			}
			if err := db.Flatten(1); err != nil {
				t.Fatal(err)
			}
			if got, want := <-saw, (seen{!harm, harm}); got != want {
				t.Errorf("between a loss and its telling %+v, want %+v", got, want)
			}
			w.sure() // nobody waits where nothing is compacted
		})
	}
}

// TestAbandon: an index is suspect unless it was closed.
func TestAbandon(t *testing.T) {
	dir := t.TempDir()
	for n, leave := range []func(*Index) error{(*Index).Close, (*Index).Abandon, (*Index).Close} {
		i, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := i.IsSuspect(), n == 2; got != want {
			t.Errorf("opened after %d others: suspect %v, want %v", n, got, want)
		}
		if err := errors.Join(i.Write(uint64(n+1), []store.Op{{Kind: store.OpPut, Key: "a", Value: []byte("1")}}), leave(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCompactionWhileClosed: a compaction that ends when nobody watches any more leaves an index that is
// checked before it is used again; so does one that begins before.
func TestCompactionWhileClosed(t *testing.T) {
	var told []error
	watching := func() *watch { return newWatch(&Options{Doubt: func(err error) { told = append(told, err) }}) }
	db := new(badger.DB)

	synctest.Test(t, func(t *testing.T) {
		w := watching()
		w.build(1, 7)
		w.begin(db)
		if len(told) != 1 {
			t.Errorf("a compaction before it watched: told %v", told)
		}
	})

	for name, during := range map[string]func(*watch){
		"open":   func(w *watch) { w.compactions[1] = new(tableExchange); w.stop() },
		"begun":  func(w *watch) { w.stop(); w.build(1, 7) },
		"failed": func(w *watch) { w.stop(); w.Errorf("cannot flush") },
	} {
		w := watching()
		w.begin(db)
		if during(w); !w.isBlind() {
			t.Errorf("a compaction that is %s while the index is closed leaves it for whole", name)
		}
	}
	w := watching()
	w.begin(db)
	if w.stop(); w.isBlind() {
		t.Error("an index that was closed in peace is suspect")
	}
}

// TestCompactionWhileOpened: a compaction that begins while the index is opened is watched as others are.
func TestCompactionWhileOpened(t *testing.T) {
	db := severalTables(t, badger.DefaultOptions(t.TempDir()).WithLogger(nil))
	defer db.Close()
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(&Options{Doubt: func(err error) { t.Errorf("told %v", err) }})
		go w.Debugf(lineBuilt, 1, uint64(100), uint64(0), time.Second)
		synctest.Wait()
		if w.open.Load() != 0 {
			t.Error("it goes on before the index is open")
		}
		w.begin(db)
		synctest.Wait()
		if w.open.Load() != 1 || w.isBlind() {
			t.Errorf("of the compaction %d are watched, blind %v", w.open.Load(), w.isBlind())
		}
	})
}
