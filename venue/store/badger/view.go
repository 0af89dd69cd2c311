package badger

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"usher/venue/store"
)

// view reads in one transaction, at one version.
type view struct {
	txn     *badger.Txn
	reads   *reads
	watch   *watch
	version uint64
}

func (i *Index) view() view {
	version := i.reads.begin()
	return view{i.db.NewTransactionAt(version, false), &i.reads, i.watch, version}
}

// End also ends a view whose iterator Badger has lost in a panic, and panics about.
func (v view) End() {
	defer v.reads.end(v.version)
	var err error
	defer contain(&err)
	v.txn.Discard()
}

func (v view) Get(key string) (value []byte, rev uint64, err error) {
	defer contain(&err)
	defer v.watch.sure()
	defer faulty()()
	item, err := v.txn.Get([]byte(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	value, err = valueOf(item)
	return value, item.Version(), err
}

func (v view) Page(w store.Walk) (page []store.Row, next string, err error) {
	defer contain(&err)
	defer v.watch.sure()
	defer faulty()()
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

var errValue = errors.New("the value cannot be read")

// valueOf copies a value. One that is empty is no nil. Badger gives an empty one for what it cannot
// read in its value log, and no error.
func valueOf(item *badger.Item) ([]byte, error) {
	value, err := item.ValueCopy(make([]byte, 0, item.ValueSize()))
	if err == nil && len(value) == 0 && item.ValueSize() > 0 {
		err = errValue
	}
	return value, err
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

// reads knows the version that is written last, and the versions that are read:
// what only older ones hold may be thrown away.
type reads struct {
	mu      sync.Mutex
	written uint64
	open    map[uint64]int // readers by version
}

func (r *reads) last() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}

// begin returns the version that a reader sees until it calls end.
func (r *reads) begin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[r.written]++
	return r.written
}

func (r *reads) end(version uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[version]--; r.open[version] == 0 {
		delete(r.open, version)
	}
}

// advance notes that a version is written, and returns the oldest that is needed.
func (r *reads) advance(version uint64) (oldest uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = max(r.written, version)
	oldest = r.written
	for v := range r.open {
		oldest = min(oldest, v)
	}
	return oldest
}
