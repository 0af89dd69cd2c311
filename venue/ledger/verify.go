package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Report is what was found of a ledger that holds.
type Report struct {
	Rows        uint64 `json:"rows"`
	Root        string `json:"root"`               // of the tree, in base64
	Signed      uint64 `json:"signed"`             // rows that the newest checkpoint covers
	Checkpoints int    `json:"checkpoints"`        // that were compared
	Pruned      uint64 `json:"pruned,omitempty"`   // rows, from the first on
	PrunedBy    uint64 `json:"prunedBy,omitempty"` // row that says so
	Unfinished  uint64 `json:"unfinished"`         // calls that were allowed, and have no outcome: they run, or were cut off

	Missing []string `json:"missing,omitempty"` // files of checkpoints that are not there, though checkpoints were made
}

// Verify reads the whole ledger and compares it with its head, with every
// checkpoint in the store and in the places that are files, and with those that
// are given as signed notes, any number in a text. The first contradiction is an
// error that wraps [ErrBroken].
func (r *Reader) Verify(ctx context.Context, places []string, against ...string) (Report, error) {
	v, err := r.verification(against)
	if err != nil {
		return Report{}, err
	}
	r, thaw, err := r.freeze(ctx)
	if err != nil {
		return Report{}, err
	}
	defer thaw()
	signed, err := r.checkpoints(ctx)
	if err != nil {
		return Report{}, err
	}
	made := len(signed) > 0
	for _, place := range places {
		if made && isMissing(place) {
			v.report.Missing = append(v.report.Missing, place)
		}
		for c, err := range r.checkpointsIn(place, math.MaxInt64) {
			if err != nil {
				return Report{}, err
			}
			signed = append(signed, c)
		}
	}
	v.expect(signed...)
	h, err := r.readHead(ctx)
	if err != nil {
		return Report{}, err
	}
	if err := v.begin(ctx, r); err != nil {
		return Report{}, err
	}
	if err := v.follow(r.follow(ctx, &v.tree, h.head())); err != nil {
		return Report{}, v.explain(err)
	}
	if err := r.endsAt(ctx, h); err != nil {
		return Report{}, err
	}
	report, err := v.end()
	return report, v.explain(err)
}

// verification follows rows from the first on and compares the tree that they
// make with checkpoints.
type verification struct {
	tree   tree
	ahead  []Checkpoint // that are still to come, the smallest first
	open   map[uint64]bool
	pruned PruneNote // of which the note is still to come
	report Report

	restored string // what the last row says that tells of a restored folder
}

func (r *Reader) verification(against []string) (*verification, error) {
	v := &verification{open: make(map[uint64]bool)}
	var expected []Checkpoint
	for _, text := range against {
		all := notes(text, r.venue.String())
		if len(all) == 0 {
			return nil, errors.New("there is no checkpoint in what the ledger is to be compared with")
		}
		for _, text := range all {
			c, err := r.open(text)
			if err != nil {
				return nil, err
			}
			expected = append(expected, c)
		}
	}
	v.expect(expected...)
	return v, nil
}

// begin begins behind the rows that were pruned.
func (v *verification) begin(ctx context.Context, r *Reader) error {
	p, err := r.PruneNote(ctx)
	if err != nil || p.To == 0 {
		return err
	}
	return v.passOver(p, r.hashes(ctx))
}

// expect adds checkpoints, many at once where there are many: all are sorted each time.
func (v *verification) expect(all ...Checkpoint) {
	v.ahead = append(v.ahead, all...)
	v.report.Checkpoints += len(all)
	slices.SortFunc(v.ahead, func(a, b Checkpoint) int { return cmp.Compare(a.Size, b.Size) })
}

// follow takes the rows that the tree grows by, one after the other.
func (v *verification) follow(rows iter.Seq2[[]byte, error]) error {
	if err := v.compare(); err != nil {
		return err
	}
	for raw, err := range rows {
		if err != nil {
			return err
		}
		row, err := decodeRow(v.tree.size, raw)
		if err != nil {
			return err
		}
		row.opens(v.open)
		if row.Note == Restored {
			v.restored = fmt.Sprintf("row %d says that the folder was restored from a backup: %s", row.Seq, row.Detail)
		}
		if row.Seq == v.pruned.Note {
			if err := v.pruned.checkNote(&row, v.pruned.Root); err != nil {
				return err
			}
			v.report.Pruned, v.report.PrunedBy = v.pruned.To, v.pruned.Note
		}
		if err := v.compare(); err != nil {
			return err
		}
	}
	return nil
}

// compare compares the tree with the checkpoints of its size.
func (v *verification) compare() error {
	for len(v.ahead) > 0 && v.ahead[0].Size == v.tree.size {
		if v.tree.root() != v.ahead[0].Root {
			return rewriteError(v.tree.size)
		}
		v.report.Signed = v.tree.size
		v.ahead = v.ahead[1:]
	}
	return nil
}

func (v *verification) end() (Report, error) {
	if err := v.compare(); err != nil { // by a checkpoint that came last
		return Report{}, err
	}
	if len(v.ahead) > 0 {
		return Report{}, rollbackError(v.ahead[len(v.ahead)-1].Size, v.tree.size)
	}
	if v.report.PrunedBy != v.pruned.Note {
		return Report{}, v.pruned.checkNote(&Row{}, v.pruned.Root)
	}
	if err := v.pruned.isSigned(v.report.Signed); err != nil {
		return Report{}, err
	}
	v.report.Rows, v.report.Root = v.tree.size, v.tree.root().String()
	v.report.Unfinished = uint64(len(v.open))
	return v.report, nil
}

// endsAt checks that nothing is beyond the head, unless more was written since.
func (r *Reader) endsAt(ctx context.Context, h *tree) error {
	beyond, _, err := r.view.Page(ctx, rowPrefix, rowKey(h.size+1), 1)
	if err != nil || len(beyond) == 0 {
		return err
	}
	if now, err := r.readHead(ctx); err != nil || !now.equal(h) {
		return err
	}
	return fmt.Errorf("%w: there are rows beyond row %d, where its head says that it ends", ErrBroken, h.size)
}
