package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"usher/tools/fault"
)

// The bounds of one Apply, the same for all engines.
const (
	MaxApplyBytes = 1 << 20 // keys and values together, without the prefix of the space
	MaxApplyKeys  = 10_000
	MaxKeyBytes   = 2 << 10 // the prefix of the space included
)

var (
	// ErrTooLarge says that an Apply exceeds its bounds: write it as several.
	ErrTooLarge = fault.New(fault.TooLarge, "too large for one batch")
	// ErrUnknown says that an Apply may have been written or not: whoever wrote must read to know.
	ErrUnknown = fault.New(fault.Unknown, "whether it was written is unknown: look before you repeat it")
)

// Apply writes put and deletes del in one atomic step, on condition that each key of expect is
// still at the revision that stands there (0: it must not exist). It has three outcomes:
//
//   - applied: no key and no error. The writes survive a loss of power, where there is a disk.
//   - refused: a key of expect that had moved, without an error. Nothing was written, and the
//     caller should read again.
//   - unknown: an error that wraps [ErrUnknown]. The caller finds out by reading.
//
// The values of put are the store's from then on: they must not be changed.
//
// With any other error nothing was written. Expectations without writes are checked and that is
// all. The bounds are [MaxApplyBytes], [MaxApplyKeys] and [MaxKeyBytes].
func (s *Space) Apply(ctx context.Context, expect map[string]uint64, put map[string][]byte, del []string) (moved string, err error) {
	ops, reused := batches.Get().(*[]Op)
	if !reused {
		ops = new([]Op)
	}
	defer func() {
		clear(*ops)
		batches.Put(ops)
	}()
	batch, err := s.batch((*ops)[:0], expect, put, del)
	if err != nil {
		return "", fmt.Errorf("apply: %w", err)
	}
	*ops = batch
	e, err := s.gate.enter(ctx)
	if err != nil {
		return "", err
	}
	defer s.gate.leave()
	if moved, err = e.Apply(batch); err != nil {
		return "", fmt.Errorf("apply: %w", err)
	}
	if moved != "" {
		moved = moved[len(s.prefix):]
	}
	return moved, nil
}

// batches are rows of [Op] that are used again.
var batches sync.Pool

// batch checks the bounds and lays the parts of an Apply out in a row.
func (s *Space) batch(batch []Op, expect map[string]uint64, put map[string][]byte, del []string) ([]Op, error) {
	if n := len(put) + len(del); n > MaxApplyKeys {
		return nil, fmt.Errorf("%w: %d keys, at most %d", ErrTooLarge, n, MaxApplyKeys)
	}
	batch = slices.Grow(batch, len(expect)+len(put)+len(del))
	for key, rev := range expect {
		batch = append(batch, Op{Kind: OpExpect, Key: s.prefix + key, Rev: rev})
	}
	size := 0
	for key, value := range put {
		size += len(key) + len(value)
		batch = append(batch, Op{Kind: OpPut, Key: s.prefix + key, Value: value})
	}
	for _, key := range del {
		if _, both := put[key]; both {
			return nil, fmt.Errorf("key %q is both put and deleted; the order would decide which holds", key)
		}
		size += len(key)
		batch = append(batch, Op{Kind: OpDelete, Key: s.prefix + key})
	}
	if size > MaxApplyBytes {
		return nil, fmt.Errorf("%w: %d bytes of keys and values, at most %d", ErrTooLarge, size, MaxApplyBytes)
	}
	for _, op := range batch {
		switch {
		case len(op.Key) == len(s.prefix):
			return nil, errors.New("empty key")
		case len(op.Key) > MaxKeyBytes:
			return nil, fmt.Errorf("%w: a key of %d bytes, at most %d", ErrTooLarge, len(op.Key), MaxKeyBytes)
		}
	}
	return batch, nil
}
