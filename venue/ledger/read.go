package ledger

import (
	"context"
	"fmt"
	"iter"

	"golang.org/x/mod/sumdb/tlog"

	"usher/tools"
	"usher/ucan"
	"usher/venue/store"
)

// Reader reads a ledger, and says whether it holds. It needs no key.
type Reader struct {
	view  view
	store Store // that it is a view of
	venue ucan.DID
}

// view is what reading needs: a store, or a snapshot of it.
type view interface {
	// Get returns a value and its revision; nil and 0 where there is none.
	Get(ctx context.Context, key string) (value []byte, rev uint64, err error)
	// Page returns rows in the order of their keys, which begin with prefix and
	// are not below from; next is where the following page begins, or "".
	Page(ctx context.Context, prefix, from string, limit int) (rows []store.Row, next string, err error)
	// PageBack is Page downwards, from the key from or the last one.
	PageBack(ctx context.Context, prefix, from string, limit int) (rows []store.Row, next string, err error)
}

// NewReader reads the ledger that a venue keeps in a store. Unlike [Open] it
// takes one that is broken.
func NewReader(store Store, venue ucan.DID) *Reader { return &Reader{store, store, venue} }

// freeze reads the ledger as it is at this moment, until thaw is called.
func (r *Reader) freeze(ctx context.Context) (at *Reader, thaw func(), err error) {
	snap, err := r.store.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &Reader{snap, r.store, r.venue}, snap.Close, nil
}

// rowsAtOnce is the page in which rows are read backwards.
const rowsAtOnce = 256

// Rows yields the rows from a number on, in their order, and checks on the way
// that they are those under the head: if not, it ends with [ErrBroken]. From 0
// or 1 it checks the whole ledger. Rows that were pruned are passed over.
func (r *Reader) Rows(ctx context.Context, from uint64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		r, thaw, err := r.freeze(ctx)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer thaw()
		var p PruneNote
		h, err := r.readHead(ctx)
		if err == nil {
			p, err = r.PruneNote(ctx)
		}
		from = max(from, 1, p.To+1)
		if err == nil && from > h.size {
			return
		}
		var t tree
		if err == nil {
			t, err = grown(from-1, r.hashes(ctx))
		}
		if err != nil {
			yield(Row{}, err)
			return
		}
		for raw, err := range r.follow(ctx, &t, h.head()) {
			var row Row
			if err == nil {
				row, err = decodeRow(t.size, raw)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// follow yields the rows behind those of a tree, which grows by them, until it is
// the one that it has to become. What does not lead there ends with [ErrBroken].
func (r *Reader) follow(ctx context.Context, t *tree, become head) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if t.size == become.size {
			return
		}
		for record, err := range store.Rows(ctx, r.view, rowPrefix, rowKey(t.size+1)) {
			var row []byte
			if err == nil {
				row, err = t.check(record)
			}
			if err == nil && t.size == become.size && t.head() != become {
				err = fmt.Errorf("%w: its rows are not those under its head", ErrBroken)
			}
			if !yield(row, err) || err != nil || t.size == become.size {
				return
			}
		}
		yield(nil, fmt.Errorf("%w: it ends with row %d, and its head says row %d", ErrBroken, t.size, become.size))
	}
}

// check adds the row of a record that must come next, and compares the hashes
// that stand before it.
func (t *tree) check(next store.Row) (row []byte, err error) {
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

// Newest returns the row that was written last; the zero Row where there is none.
func (r *Reader) Newest(ctx context.Context) (Row, error) {
	for row, err := range r.Last(ctx, 0) {
		return row, err
	}
	return Row{}, nil
}

// Last yields the rows before a number from the last down; before 0 means all.
// It checks no hashes, so that it reads no more than it yields. Rows that were
// pruned are left out.
func (r *Reader) Last(ctx context.Context, before uint64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		p, err := r.PruneNote(ctx)
		if err != nil {
			yield(Row{}, err)
			return
		}
		next := ""
		switch before {
		case 0:
		case 1:
			return
		default:
			next = rowKey(before - 1)
		}
		for more := true; more; more = next != "" {
			var page []store.Row
			var err error
			if page, next, err = r.view.PageBack(ctx, rowPrefix, next, rowsAtOnce); err != nil {
				yield(Row{}, err)
				return
			}
			for _, record := range page {
				seq, err := seqOf(record.Key)
				if err == nil && seq <= p.To {
					return
				}
				var row Row
				if err == nil {
					row, err = decodeRow(seq, record.Value[min(subtreeLength(seq), len(record.Value)):])
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// Venue is whose ledger it is.
func (r *Reader) Venue() ucan.DID { return r.venue }

// Verdict is a row with what came of the call that it decides on.
type Verdict struct {
	Row
	Late *Row // the row of the outcome; nil where none was found
}

// IsDenied reports whether the call was denied, by the decision or by its handler, which found
// that the caller may not.
func (j *Verdict) IsDenied() bool {
	return j.Entry != nil && j.Verdict == tools.Denied || j.Late != nil && j.Late.Outcome == OutcomeDenied
}

// LastVerdicts is [Reader.Last] with the outcomes of decisions, which are looked for among
// as many rows behind before.
func (r *Reader) LastVerdicts(ctx context.Context, before, behind uint64) iter.Seq2[Verdict, error] {
	return func(yield func(Verdict, error) bool) {
		outcomes := make(map[uint64]*Row)
		from := before
		if from > 0 {
			from += behind
		}
		for row, err := range r.Last(ctx, from) {
			if err != nil {
				yield(Verdict{}, err)
				return
			}
			if row.Of != 0 {
				outcomes[row.Of] = &row
			}
			j := Verdict{row, outcomes[row.Seq]}
			delete(outcomes, row.Seq)
			if (before == 0 || row.Seq < before) && !yield(j, nil) {
				return
			}
		}
	}
}
