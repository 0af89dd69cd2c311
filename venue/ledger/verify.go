package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"usher/tools"
	"usher/ucan"
)

// Report is what was found of a ledger that holds.
type Report struct {
	Rows        uint64 `json:"rows"`
	Root        string `json:"root"`        // of the tree, in base64
	Signed      uint64 `json:"signed"`      // rows that the newest checkpoint covers
	Checkpoints int    `json:"checkpoints"` // that were compared
	Unfinished  uint64 `json:"unfinished"`  // calls that were allowed, and have no outcome: they run, or were cut off
}

// Verify reads the whole ledger and compares it with its head, with every
// checkpoint in the store, and with those that are given as signed notes, any
// number in a text. The first contradiction is an error that wraps [ErrBroken].
func (r *Reader) Verify(ctx context.Context, against ...string) (Report, error) {
	v, err := r.verification(against)
	if err != nil {
		return Report{}, err
	}
	signed, err := r.signed(ctx)
	if err != nil {
		return Report{}, err
	}
	v.expect(signed...)
	if err := v.reached(); err != nil {
		return Report{}, err
	}
	h, err := r.readHead(ctx)
	if err != nil {
		return Report{}, err
	}
	for record, err := range r.raw(ctx, 1) {
		if err != nil {
			return Report{}, err
		}
		if v.tree.size == h.size {
			if now, err := r.readHead(ctx); err != nil || now.equal(h) {
				return Report{}, cmp.Or(err, fmt.Errorf("%w: there are rows beyond row %d, where its head says that it ends", ErrBroken, h.size))
			}
			break // written since
		}
		raw, err := v.tree.check(record)
		if err != nil {
			return Report{}, err
		}
		if err := v.row(raw); err != nil {
			return Report{}, err
		}
	}
	if v.tree.size < h.size {
		return Report{}, fmt.Errorf("%w: it ends with row %d, and its head says row %d", ErrBroken, v.tree.size, h.size)
	}
	if !v.tree.equal(h) {
		return Report{}, fmt.Errorf("%w: its rows are not those under its head", ErrBroken)
	}
	return v.end()
}

// signed reads all checkpoints of the store.
func (r *Reader) signed(ctx context.Context) (all []Checkpoint, err error) {
	for next, more := "", true; more; more = next != "" {
		var page []record
		if page, next, err = r.store.Page(ctx, signPrefix, next, rowsAtOnce); err != nil {
			return nil, err
		}
		for _, row := range page {
			c, err := r.openAt(row)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// verification follows rows from the first on and compares the tree that they
// make with checkpoints.
type verification struct {
	tree   tree
	ahead  []Checkpoint // that are still to come, the smallest first
	open   map[uint64]bool
	report Report
}

func (r *Reader) verification(against []string) (*verification, error) {
	v := &verification{open: make(map[uint64]bool)}
	for _, text := range against {
		all := notes(text, r.venue.String())
		if len(all) == 0 {
			return nil, fmt.Errorf("there is no checkpoint in what the ledger is to be compared with")
		}
		for _, text := range all {
			c, err := r.open(text)
			if err != nil {
				return nil, err
			}
			v.expect(c)
		}
	}
	return v, nil
}

func (v *verification) expect(all ...Checkpoint) {
	v.ahead = append(v.ahead, all...)
	v.report.Checkpoints += len(all)
	slices.SortFunc(v.ahead, func(a, b Checkpoint) int { return cmp.Compare(a.Size, b.Size) })
}

// row takes the row that the tree has just grown by.
func (v *verification) row(raw []byte) error {
	row, err := decodeRow(v.tree.size, raw)
	if err != nil {
		return err
	}
	switch {
	case row.Entry == nil:
		delete(v.open, row.Of)
	case row.Verdict == tools.Allowed:
		v.open[row.Seq] = true
	}
	return v.reached()
}

// reached compares the tree with the checkpoints of its size.
func (v *verification) reached() error {
	for len(v.ahead) > 0 && v.ahead[0].Size == v.tree.size {
		if v.tree.root() != v.ahead[0].Root {
			return rewritten(v.tree.size)
		}
		v.report.Signed = v.tree.size
		v.ahead = v.ahead[1:]
	}
	return nil
}

func (v *verification) end() (Report, error) {
	if len(v.ahead) > 0 {
		return Report{}, rolledBack(v.ahead[len(v.ahead)-1].Size, v.tree.size)
	}
	v.report.Rows, v.report.Root = v.tree.size, v.tree.root().String()
	v.report.Unfinished = uint64(len(v.open))
	return v.report, nil
}

// leaf adds a row that stands alone, without hashes.
func (v *verification) leaf(raw []byte) error {
	v.tree.add(tlog.RecordHash(raw), nil)
	return v.row(raw)
}

// Signed is the checkpoints of the venue in a text that was written note by
// note; what was torn in writing is passed over.
func (r *Reader) Signed(text string) (all []string) {
	for _, text := range notes(text, r.venue.String()) {
		if _, err := r.open(text); err == nil {
			all = append(all, text)
		}
	}
	return all
}

// Venue is whose ledger it is.
func (r *Reader) Venue() ucan.DID { return r.venue }
