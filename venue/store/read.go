package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Get returns the value of key and its revision. A key that does not exist has no value and
// revision 0; that is not an error. The value belongs to the caller.
func (s *Store) Get(ctx context.Context, key []byte) (value []byte, rev uint64, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, 0, err
	}
	defer s.running.Done()
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("get %q: %w", key, err)
	}
	value, err = item.ValueCopy(nil)
	if err != nil {
		return nil, 0, fmt.Errorf("get %q: %w", key, err)
	}
	return value, item.Version(), nil
}

// Scan calls fn for each key that begins with prefix and is not below start, in the order of
// their bytes, until fn returns false or an error; the error is returned as it is. An empty start
// means the first key. The slices are valid until fn returns. Keep fn short: as long as a scan
// runs, no old version of anything can be reclaimed.
func (s *Store) Scan(ctx context.Context, prefix, start []byte, fn func(key, value []byte) (more bool, err error)) error {
	return s.scan(ctx, walk{prefix: prefix, start: start, values: true}, fn)
}

// ScanBack is Scan downwards: from start, or from the last key that begins with prefix when start
// is empty.
func (s *Store) ScanBack(ctx context.Context, prefix, start []byte, fn func(key, value []byte) (more bool, err error)) error {
	return s.scan(ctx, walk{prefix: prefix, start: start, values: true, back: true}, fn)
}

// ScanKeys is Scan without the values: fn gets nil in their place, and none is fetched.
func (s *Store) ScanKeys(ctx context.Context, prefix, start []byte, fn func(key, value []byte) (more bool, err error)) error {
	return s.scan(ctx, walk{prefix: prefix, start: start}, fn)
}

// walk is one way through the keys.
type walk struct {
	prefix, start []byte
	values, back  bool
}

func (s *Store) scan(ctx context.Context, w walk, fn func(key, value []byte) (bool, error)) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.running.Done()
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	it := txn.NewIterator(w.options())
	defer it.Close()

	var key []byte
	var more bool
	visit := func(value []byte) (err error) { // one closure for the whole walk
		more, err = fn(key, value)
		return err
	}
	w.seek(it)
	for n := 0; it.ValidForPrefix(w.prefix); it.Next() {
		// Asking a context takes a lock; 64 keys are a fraction of a millisecond.
		if n++; n%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		item := it.Item()
		key = item.Key()
		var err error
		if w.values {
			err = item.Value(visit)
		} else {
			err = visit(nil)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (w walk) options() badger.IteratorOptions {
	// Badger's prefetching starts a goroutine for each value, which costs more than it saves for
	// values that stand beside their keys.
	o := badger.IteratorOptions{Reverse: w.back}
	if !w.back {
		// Downwards, Badger would hide the key that follows the prefix, where seek begins.
		o.Prefix = w.prefix
	}
	return o
}

// seek brings the iterator to the first key of the walk.
func (w walk) seek(it *badger.Iterator) {
	if !w.back {
		if bytes.Compare(w.start, w.prefix) > 0 {
			it.Seek(w.start)
		} else {
			it.Rewind()
		}
		return
	}
	end := after(w.prefix)
	if len(w.start) > 0 && (end == nil || bytes.Compare(w.start, end) < 0) {
		it.Seek(w.start)
		return
	}
	if end == nil {
		it.Rewind()
		return
	}
	it.Seek(end)
	if it.Valid() && bytes.Equal(it.Item().Key(), end) {
		it.Next() // end itself is beyond the prefix
	}
}

// after returns the first key that follows every key with this prefix; nil when none can.
func after(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			end := bytes.Clone(prefix[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}
