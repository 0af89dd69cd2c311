// Package badger is the engine of a store on disk, and the only package that names Badger. Call
// [Open].
//
// The revision of a key is the version that Badger gives it. Apply leaves its writes to the
// operating system, which keeps them when the process dies; Sync brings them to the disk.
package badger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"

	"usher/venue/store"
)

// Open opens the store in the folder dir, which is made when it is missing. A folder that is open
// already is an error that names the process that has it, and so is one of another [Format]. The
// logger receives what goes wrong in the background; nil logs nothing.
func Open(dir string, logger *slog.Logger) (*store.Store, error) {
	e, err := openEngine(dir, logger, 10*time.Minute)
	if err != nil {
		return nil, err
	}
	return store.New(e), nil
}

type engine struct {
	db     *badger.DB
	dir    string
	log    *slog.Logger
	writer writer
	reads  reads
	sync   syncer

	stopGC context.CancelFunc
	doneGC chan struct{}
}

var _ store.Engine = (*engine)(nil)

// openEngine opens an engine that collects the value log at intervals, which hands the space of
// overwritten values above 1 KiB back to the disk.
func openEngine(dir string, logger *slog.Logger, interval time.Duration) (*engine, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if err := checkFolder(dir); err != nil {
		return nil, fmt.Errorf("open store %q: %w", dir, err)
	}
	db, err := badger.OpenManaged(tuned(dir, logger))
	if err != nil {
		return nil, openError(dir, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &engine{db: db, dir: dir, log: logger, sync: newSyncer(), stopGC: cancel, doneGC: make(chan struct{})}
	e.reads = reads{written: db.MaxVersion(), open: make(map[uint64]int)}
	db.SetDiscardTs(e.reads.written)
	go e.collect(ctx, interval)
	return e, nil
}

// Close writes what is in memory to disk and gives the folder free.
func (e *engine) Close() error {
	e.stopGC()
	<-e.doneGC
	if err := e.db.Close(); err != nil {
		return fmt.Errorf("close store %q: %w", e.dir, err)
	}
	return nil
}

func (e *engine) Get(key string) ([]byte, uint64, error) {
	v := e.view()
	defer v.End()
	return v.Get(key)
}

func (e *engine) Page(w store.Walk) ([]store.Row, string, error) {
	v := e.view()
	defer v.End()
	return v.Page(w)
}

func (e *engine) Snapshot() store.EngineSnapshot { return e.view() }

// view reads in one transaction, at one version.
type view struct {
	txn     *badger.Txn
	reads   *reads
	version uint64
}

func (e *engine) view() view {
	version := e.reads.begin()
	return view{e.db.NewTransactionAt(version, false), &e.reads, version}
}

func (v view) End() {
	v.txn.Discard()
	v.reads.end(v.version)
}

func (v view) Get(key string) ([]byte, uint64, error) {
	item, err := v.txn.Get([]byte(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	value, err := valueOf(item)
	return value, item.Version(), err
}

func (v view) Page(w store.Walk) (page []store.Row, next string, err error) {
	// Badger's prefetching starts a goroutine for each value, which costs more than it saves for
	// values that stand beside their keys.
	o := badger.IteratorOptions{Reverse: w.Back}
	if !w.Back {
		// Downwards, Badger would hide the key that follows the prefix, where seek begins.
		o.Prefix = []byte(w.Prefix)
	}
	it := v.txn.NewIterator(o)
	defer it.Close()
	seek(it, w)
	size := 0
	for prefix := []byte(w.Prefix); it.ValidForPrefix(prefix); it.Next() {
		item := it.Item()
		if w.IsFull(len(page), size) {
			return page, string(item.Key()), nil
		}
		row := store.Row{Key: string(item.Key()), Rev: item.Version()}
		if !w.Keys {
			if row.Value, err = valueOf(item); err != nil {
				return nil, "", fmt.Errorf("value of %q: %w", row.Key, err)
			}
		}
		size += len(row.Key) + len(row.Value)
		page = append(page, row)
	}
	return page, "", nil
}

// valueOf copies a value. One that is empty is no nil.
func valueOf(item *badger.Item) ([]byte, error) {
	return item.ValueCopy(make([]byte, 0, item.ValueSize()))
}

// seek brings the iterator to the first key of the walk.
func seek(it *badger.Iterator, w store.Walk) {
	if !w.Back {
		it.Seek([]byte(max(w.From, w.Prefix)))
		return
	}
	end := store.After(w.Prefix)
	switch {
	case w.From != "" && (end == "" || w.From < end):
		it.Seek([]byte(w.From))
	case end == "":
		it.Rewind()
	default:
		it.Seek([]byte(end))
		if it.Valid() && bytes.Equal(it.Item().Key(), []byte(end)) {
			it.Next() // end itself is beyond the prefix
		}
	}
}

// badgerLog hands Badger's log on. Badger reports its routine as "info": here that is debug.
type badgerLog struct{ log *slog.Logger }

var _ badger.Logger = badgerLog{}

func (l badgerLog) Errorf(format string, args ...any)   { l.emit(slog.LevelError, format, args) }
func (l badgerLog) Warningf(format string, args ...any) { l.emit(slog.LevelWarn, format, args) }
func (l badgerLog) Infof(format string, args ...any)    { l.emit(slog.LevelDebug, format, args) }
func (l badgerLog) Debugf(string, ...any)               {}

func (l badgerLog) emit(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if !l.log.Enabled(ctx, level) {
		return
	}
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	l.log.LogAttrs(ctx, level, "badger", slog.String("text", text))
}
