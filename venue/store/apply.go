package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// The bounds of one Apply. They are the same on disk and in memory, and below what one Badger
// transaction holds with memtables of 8 MiB.
const (
	MaxApplyBytes = 1 << 20 // keys and values together
	MaxApplyKeys  = 10_000
	MaxKeyBytes   = 32 << 10
)

// ErrTooLarge says that an Apply exceeds the bounds of one transaction: write it as several.
var ErrTooLarge = errors.New("too large for one transaction")

// Apply writes put and deletes del in one atomic step, on condition that each key of expect is
// still at the revision that stands there (0: it must not exist).
//
// It reports false, without an error, when a condition does not hold or when another Apply won
// the race for one of these keys; nothing was written then, and the caller should read again.
// Conditions without writes are checked and that is all. After true, the writes survive the death
// of the process; see [Store.Sync] for more. The bounds are [MaxApplyBytes] and [MaxApplyKeys].
func (s *Store) Apply(ctx context.Context, expect map[string]uint64, put map[string][]byte, del []string) (applied bool, err error) {
	if err := checkBounds(put, del); err != nil {
		return false, fmt.Errorf("apply: %w", err)
	}
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	defer s.running.Done()
	txn := s.db.NewTransaction(true)
	defer txn.Discard()

	for key, want := range expect {
		// Reading inside the transaction is what makes Badger refuse the commit when somebody
		// writes the key between here and there.
		rev, err := revision(txn, key)
		if err != nil {
			return false, fmt.Errorf("apply: get %q: %w", key, err)
		}
		if rev != want {
			return false, nil
		}
	}
	for key, value := range put {
		if err := txn.Set([]byte(key), value); err != nil {
			return false, fmt.Errorf("apply: put %q: %w", key, err)
		}
	}
	for _, key := range del {
		if err := txn.Delete([]byte(key)); err != nil {
			return false, fmt.Errorf("apply: delete %q: %w", key, err)
		}
	}
	err = txn.Commit()
	if errors.Is(err, badger.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("apply: %w", err)
	}
	return true, nil
}

func revision(txn *badger.Txn, key string) (uint64, error) {
	item, err := txn.Get([]byte(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return item.Version(), nil
}

func checkBounds(put map[string][]byte, del []string) error {
	if n := len(put) + len(del); n > MaxApplyKeys {
		return fmt.Errorf("%w: %d keys, at most %d", ErrTooLarge, n, MaxApplyKeys)
	}
	size := 0
	for key, value := range put {
		if err := checkKey(key); err != nil {
			return err
		}
		size += len(key) + len(value)
	}
	for _, key := range del {
		if err := checkKey(key); err != nil {
			return err
		}
		if _, both := put[key]; both {
			return fmt.Errorf("key %q is both put and deleted; the order would decide which holds", key)
		}
		size += len(key)
	}
	if size > MaxApplyBytes {
		return fmt.Errorf("%w: %d bytes of keys and values, at most %d", ErrTooLarge, size, MaxApplyBytes)
	}
	return nil
}

func checkKey(key string) error {
	if key == "" {
		return errors.New("empty key")
	}
	if len(key) > MaxKeyBytes {
		return fmt.Errorf("%w: a key of %d bytes, at most %d", ErrTooLarge, len(key), MaxKeyBytes)
	}
	return nil
}
