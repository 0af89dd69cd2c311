package venue

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue/store"
)

// Row is one row of the audit ledger: a decision of the gate, or the outcome
// of a call that it let through. Rows are only ever added; each names the hash
// of the row before it.
type Row struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Prev string    `json:"prev"` // SHA-256 of the row before, in hex; empty for the first

	*tools.Entry        // of a decision
	Of           uint64 `json:"of,omitempty"`      // of an outcome: the decision's Seq
	Outcome      string `json:"outcome,omitempty"` // of an outcome: ok, failed or denied
	Error        string `json:"error,omitempty"`
}

// Outcomes of a [Row].
const (
	OutcomeOK     = "ok"
	OutcomeFailed = "failed"
	OutcomeDenied = "denied" // the handler found that the caller may not
)

// ErrLedger: the hash chain of the audit ledger is broken.
var ErrLedger = fault.New(fault.NoLedger, "audit ledger does not hold: a row was changed or removed")

// ledger writes rows in one chain. It is the gate's [tools.Ledger].
type ledger struct {
	space *store.Space
	now   func() time.Time

	mu   sync.Mutex // held while a row is chained and written
	head head
}

// head is the last row's number and hash, kept beside the rows so that a
// missing last row is noticed.
type head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

var _ tools.Ledger = (*ledger)(nil)

const headKey = "head"

func openLedger(ctx context.Context, space *store.Space, now func() time.Time) (*ledger, error) {
	l := &ledger{space: space, now: now}
	raw, _, err := space.Get(ctx, headKey)
	if err != nil {
		return nil, fmt.Errorf("open audit ledger: %w", err)
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &l.head); err != nil {
			return nil, fmt.Errorf("open audit ledger: %w", err)
		}
	}
	return l, nil
}

// Decided writes a decision. A denial is durable when it returns; a permission
// becomes so with its outcome.
func (l *ledger) Decided(ctx context.Context, e tools.Entry) (uint64, error) {
	seq, err := l.add(ctx, Row{Entry: &e})
	if err == nil && e.Verdict == tools.Denied {
		err = l.space.Sync(ctx)
	}
	return seq, err
}

// Finished writes the outcome of the decision seq, and makes both durable.
func (l *ledger) Finished(ctx context.Context, seq uint64, failure error) error {
	row := Row{Of: seq, Outcome: OutcomeOK}
	if failure != nil {
		row.Outcome, row.Error = OutcomeFailed, tools.Cut(failure.Error())
		if _, denied := errors.AsType[*caps.Denial](failure); denied {
			row.Outcome = OutcomeDenied
		}
	}
	if _, err := l.add(ctx, row); err != nil {
		return err
	}
	return l.space.Sync(ctx)
}

func (l *ledger) add(ctx context.Context, row Row) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	row.Seq, row.Time, row.Prev = l.head.Seq+1, l.now().UTC(), l.head.Hash
	raw, err := json.Marshal(row)
	if err != nil {
		return 0, err
	}
	next := head{row.Seq, hashOf(raw)}
	rawHead, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	moved, err := l.space.Apply(context.WithoutCancel(ctx),
		map[string]uint64{rowKey(row.Seq): 0},
		map[string][]byte{rowKey(row.Seq): raw, headKey: rawHead}, nil)
	if err != nil {
		return 0, fmt.Errorf("write audit row: %w", err)
	}
	if moved != "" {
		return 0, fmt.Errorf("write audit row %d: it exists already: another process writes this ledger", row.Seq)
	}
	l.head = next
	return row.Seq, nil
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// rowKey sorts as the sequence does, and after the head's key.
func rowKey(seq uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte("row/"), seq))
}

// Audit yields the rows of the ledger from the given sequence number on, in
// their order, and checks the hash chain on the way: a break yields
// [ErrLedger]. From 0 or 1 it checks all of it.
func (v *Venue) Audit(ctx context.Context, from uint64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		c := chain{want: max(from, 1), head: v.ledger.last()}
		for stored, err := range store.Rows(ctx, v.ledger.space, "row/", rowKey(c.want)) {
			var row Row
			if err == nil {
				row, err = c.next(stored.Value)
			}
			if err != nil {
				yield(Row{}, err)
				return
			}
			if row.Seq > c.head.Seq { // written since
				break
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := c.end(); err != nil {
			yield(Row{}, err)
		}
	}
}

func (l *ledger) last() head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// chain follows the rows and checks that each continues the one before.
type chain struct {
	want uint64 // the next sequence number
	hash string // of the row before; empty where that was not read
	head head
}

func (c *chain) next(raw []byte) (Row, error) {
	var row Row
	if err := json.Unmarshal(raw, &row); err != nil {
		return row, fmt.Errorf("%w: row %d cannot be read: %w", ErrLedger, c.want, err)
	}
	switch {
	case row.Seq != c.want:
		return row, fmt.Errorf("%w: row %d stands where %d should", ErrLedger, row.Seq, c.want)
	case row.Prev != c.hash && (c.hash != "" || row.Seq == 1):
		return row, fmt.Errorf("%w: row %d does not continue row %d", ErrLedger, row.Seq, row.Seq-1)
	}
	c.want, c.hash = row.Seq+1, hashOf(raw)
	if row.Seq == c.head.Seq && c.hash != c.head.Hash {
		return row, fmt.Errorf("%w: row %d is not the one that was written", ErrLedger, row.Seq)
	}
	return row, nil
}

func (c *chain) end() error {
	if c.want <= c.head.Seq {
		return fmt.Errorf("%w: it ends before row %d, the last written is %d", ErrLedger, c.want, c.head.Seq)
	}
	return nil
}
