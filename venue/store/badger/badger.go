// Package badger is the index of a store on disk, and the only package that names Badger. Call
// [Open]. The truth is a journal elsewhere, which writes each of its records here under the
// record's position: that is the version of what was written, and the revision of the keys.
//
// Badger v4.9.6 can lose what it holds without an error (UPSTREAM.md says how). So an [Index] is
// never trusted blindly: Open reads every table before Badger does, refuses what is damaged and
// says what is doubtful; while it is open it watches Badger's compactions, and whatever it sees
// fail it tells with [Options].Doubt. Whoever has the journal then checks it or makes it anew.
// Nothing here is synced, as nothing here need survive.
package badger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/dgraph-io/badger/v4"

	"usher/venue/store"
)

// Index keeps rows in a folder. It is safe for concurrent use, with one writer at a time.
type Index struct {
	db    *badger.DB
	dir   string
	reads reads
	watch *watch

	flushed uint64
	suspect bool

	stop      context.CancelFunc
	collected chan struct{}
}

// Options of an index; nil is valid.
type Options struct {
	Logger *slog.Logger // of what goes wrong in the background; nil: none
	// Doubt is called, from any goroutine, when Badger failed at something after which rows may
	// be missing. It must not call the index. nil: nobody is told.
	Doubt func(error)
}

// Open opens the index in the folder dir, which is made when it is missing. An error says that what
// is there cannot be used.
func Open(dir string, o *Options) (i *Index, err error) {
	if o == nil {
		o = &Options{}
	}
	defer contain(&err)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	found, err := inspect(dir)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", dir, err)
	}
	i = &Index{dir: dir, watch: newWatch(o), flushed: found.version, suspect: found.suspect}
	if i.db, err = badger.OpenManaged(tune(dir, i.watch)); err != nil {
		return nil, fmt.Errorf("index %s: %w", dir, err)
	}
	i.reads = reads{written: i.db.MaxVersion(), open: make(map[uint64]int)}
	i.db.SetDiscardTs(i.reads.written)
	i.watch.begin(i.db)
	ctx, stop := context.WithCancel(context.Background())
	i.stop, i.collected = stop, make(chan struct{})
	go i.collect(ctx)
	return i, nil
}

// Version is that of the newest row that was written.
func (i *Index) Version() uint64 { return i.reads.last() }

// FlushVersion is the version up to which all was in tables when the index was opened. What is newer
// came out of Badger's own logs, whose ends are lost without a word when they are damaged: write
// it again.
func (i *Index) FlushVersion() uint64 { return i.flushed }

// IsSuspect reports whether the folder was left by a process that was killed, or had tables that its
// list did not name. Rows may be missing, also such that are older than Flushed: the process may have
// made the index anew, or lost a table that it had no time to tell of.
func (i *Index) IsSuspect() bool { return i.suspect }

// Close writes what is in memory to tables, and notes which files there are. Where it may have lost
// something meanwhile there is no note, and the index is suspect.
func (i *Index) Close() (err error) {
	defer contain(&err)
	if err := i.Abandon(); err != nil || i.watch.isBlind() {
		return err
	}
	return note(i.dir)
}

// Abandon closes an index that may have lost something: it is suspect from then on, should its folder
// stay.
func (i *Index) Abandon() (err error) {
	defer contain(&err)
	i.stop()
	<-i.collected
	i.watch.stop()
	if err := i.db.Close(); err != nil {
		return fmt.Errorf("close index %s: %w", i.dir, err)
	}
	return nil
}

func (i *Index) Get(key string) ([]byte, uint64, error) {
	v := i.view()
	defer v.End()
	return v.Get(key)
}

func (i *Index) Page(w store.Walk) ([]store.Row, string, error) {
	v := i.view()
	defer v.End()
	return v.Page(w)
}

// Snapshot returns a view of this moment. Whoever opens it ends it before the index is closed.
func (i *Index) Snapshot() store.EngineSnapshot { return i.view() }

// Write puts and deletes rows at a version, which is above all before, or one that was written
// already with the same rows. After an error the index must not be used any more.
func (i *Index) Write(version uint64, ops []store.Op) (err error) {
	defer contain(&err)
	txn := i.db.NewTransactionAt(version, true)
	defer func() { txn.Discard() }()
	for _, op := range ops {
		err := stage(txn, op)
		if errors.Is(err, badger.ErrTxnTooBig) { // nobody sees the parts before advance
			if err = txn.CommitAt(version, nil); err == nil {
				txn = i.db.NewTransactionAt(version, true)
				err = stage(txn, op)
			}
		}
		if err != nil {
			return fmt.Errorf("write %q to the index: %w", op.Key, err)
		}
	}
	if err := txn.CommitAt(version, nil); err != nil {
		return fmt.Errorf("write to the index: %w", err)
	}
	i.db.SetDiscardTs(i.reads.advance(version))
	return nil
}

func stage(txn *badger.Txn, op store.Op) error {
	if op.Kind == store.OpDelete {
		return txn.Delete([]byte(op.Key))
	}
	return txn.Set([]byte(op.Key), op.Value)
}

// contain turns a panic, and a fault of a mapped file that was cut or cannot be read, into an error.
// It is deferred by what calls Badger.
func contain(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the index failed inside: %v", v)
	}
}

// faulty has faults of mapped files panic in this goroutine until the function that it returns is
// called.
func faulty() func() {
	before := debug.SetPanicOnFault(true)
	return func() { debug.SetPanicOnFault(before) }
}

// Bounds of what Replay has Badger write at once: less than one transaction of it takes.
const (
	replayRows  = 1000
	replayBytes = 128 << 10 // of keys and values, beside the last
)

// Replay writes what was written before, each put and delete at its version, in whatever order.
// After an error the index must not be used any more.
func (i *Index) Replay(all iter.Seq2[store.VersionRow, error]) (err error) {
	defer contain(&err)
	batch := i.db.NewManagedWriteBatch()
	defer func() { batch.Cancel() }()
	newest := i.reads.last()
	rows, size := 0, 0
	for op, err := range all {
		if err != nil {
			return err
		}
		if op.Kind == store.OpDelete {
			err = batch.DeleteAt([]byte(op.Key), op.Version)
		} else {
			err = batch.SetEntryAt(badger.NewEntry([]byte(op.Key), op.Value), op.Version)
		}
		if err != nil {
			return fmt.Errorf("write %q to the index: %w", op.Key, err)
		}
		newest = max(newest, op.Version)
		rows, size = rows+1, size+len(op.Key)+len(op.Value)
		if rows == replayRows || size >= replayBytes {
			// Badger ends the process at a write that follows one which found no memtable, so none
			// is under way when the next begins.
			if err := batch.Flush(); err != nil {
				return fmt.Errorf("write to the index: %w", err)
			}
			batch, rows, size = i.db.NewManagedWriteBatch(), 0, 0
		}
	}
	if err := batch.Flush(); err != nil {
		return fmt.Errorf("write to the index: %w", err)
	}
	i.db.SetDiscardTs(i.reads.advance(newest))
	return nil
}
