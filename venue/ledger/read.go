package ledger

import (
	"context"
	"fmt"
	"iter"

	"golang.org/x/mod/sumdb/tlog"

	"usher/ucan"
)

// Reader reads a ledger, and says whether it holds. It needs no key.
type Reader struct {
	store Store
	venue ucan.DID
}

// NewReader reads the ledger that a venue keeps in a store. Unlike [Open] it
// takes one that is broken.
func NewReader(store Store, venue ucan.DID) *Reader { return &Reader{store, venue} }

// rowsAtOnce is the page in which rows are read.
const rowsAtOnce = 256

// raw yields the records of rows in their order, from a number on.
func (r *Reader) raw(ctx context.Context, from uint64) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for next := rowKey(from); next != ""; {
			var page []record
			var err error
			if page, next, err = r.store.Page(ctx, rowPrefix, next, rowsAtOnce); err != nil {
				yield(record{}, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// Rows yields the rows from a number on, in their order, and checks on the way
// that they are those under the head: if not, it ends with [ErrBroken]. From 0
// or 1 it checks the whole ledger.
func (r *Reader) Rows(ctx context.Context, from uint64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		from = max(from, 1)
		stopped, err := r.rows(ctx, from, func(row Row) bool { return yield(row, nil) })
		if err != nil && !stopped {
			yield(Row{}, err)
		}
	}
}

func (r *Reader) rows(ctx context.Context, from uint64, yield func(Row) bool) (stopped bool, err error) {
	h, err := r.readHead(ctx)
	if err != nil || from > h.size {
		return false, err
	}
	t, err := r.grown(ctx, from-1)
	if err != nil {
		return false, err
	}
	for record, err := range r.raw(ctx, from) {
		if err != nil {
			return false, err
		}
		raw, err := t.check(record)
		if err != nil {
			return false, err
		}
		row, err := decodeRow(t.size, raw)
		if err != nil {
			return false, err
		}
		if t.size == h.size && !t.equal(h) {
			return false, fmt.Errorf("%w: its rows are not those under its head", ErrBroken)
		}
		if !yield(row) {
			return true, nil
		}
		if t.size == h.size { // what follows was written since
			return false, nil
		}
	}
	return false, fmt.Errorf("%w: it ends with row %d, and its head says row %d", ErrBroken, t.size, h.size)
}

// check adds the row of a record that must come next, and compares the hashes
// that stand before it.
func (t *tree) check(next record) (row []byte, err error) {
	seq := t.size + 1
	if next.Key != rowKey(seq) {
		return nil, fmt.Errorf("%w: row %d is missing", ErrBroken, seq)
	}
	hashes, row, err := split(seq, next.Value)
	if err != nil {
		return nil, err
	}
	if string(t.add(tlog.RecordHash(row), nil)) != string(hashes) {
		return nil, fmt.Errorf("%w: the hashes at row %d are not those of the rows up to it", ErrBroken, seq)
	}
	return row, nil
}

// Last yields the rows before a number from the last down; before 0 means all.
// It checks no hashes, so that it reads no more than it yields.
func (r *Reader) Last(ctx context.Context, before uint64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		next := ""
		switch before {
		case 0:
		case 1:
			return
		default:
			next = rowKey(before - 1)
		}
		for more := true; more; more = next != "" {
			var page []record
			var err error
			if page, next, err = r.store.PageBack(ctx, rowPrefix, next, rowsAtOnce); err != nil {
				yield(Row{}, err)
				return
			}
			for _, record := range page {
				row, err := parseRecord(record)
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

func parseRecord(record record) (Row, error) {
	seq, err := seqOf(record.Key)
	if err != nil {
		return Row{}, err
	}
	_, raw, err := split(seq, record.Value)
	if err != nil {
		return Row{}, err
	}
	return decodeRow(seq, raw)
}
