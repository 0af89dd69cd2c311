package ledger

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"usher/tools/fault"
)

// What is left of rows that were pruned, below "l/":
//
//	pruned        how many, and the note that says so (8 bytes each, big endian)
//	hash/<index>  a hash of the tree over them, numbered as tlog does
//
// The hashes are those that the proofs of later rows, and those between the
// checkpoints that were signed over the pruned rows, are made of.
const (
	prunedKey  = prefix + "pruned"
	hashPrefix = prefix + "hash/"
)

func hashKey(index int64) string { return numberKey(hashPrefix, uint64(index)) }

// notePruned is the note that says which rows were pruned.
const notePruned = "rows pruned"

// PruneNote says which rows were pruned: as the detail of the note, and where
// they are missed.
type PruneNote struct {
	From uint64    `json:"from"` // that the note tells of
	To   uint64    `json:"to"`   // the last, which a checkpoint was signed over; 0 is none
	Root tlog.Hash `json:"root"` // of the tree up to there
	Note uint64    `json:"-"`    // row that says so
}

func (p *PruneNote) Error() string {
	return fmt.Sprintf("rows 1 to %d of the audit ledger were pruned, as row %d says", p.To, p.Note)
}

// Code is [fault.NotFound].
func (*PruneNote) Code() fault.Code { return fault.NotFound }

// PruneNote says how many rows were pruned, and which row says so. The zero value is
// none.
func (r *Reader) PruneNote(ctx context.Context) (p PruneNote, err error) {
	raw, _, err := r.view.Get(ctx, prunedKey)
	if err != nil || raw == nil {
		return p, err
	}
	if len(raw) == 16 {
		p = PruneNote{To: binary.BigEndian.Uint64(raw), Note: binary.BigEndian.Uint64(raw[8:])}
	}
	if p.To == 0 || p.Note <= p.To || p.Note > maxSize {
		return p, fmt.Errorf("%w: how many rows were pruned cannot be read", ErrBroken)
	}
	return p, nil
}

func (p *PruneNote) record() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, p.To), p.Note)
}

// checkNote checks that a row is the note of what was pruned.
func (p *PruneNote) checkNote(row *Row, root tlog.Hash) error {
	var said PruneNote
	if row.Note == notePruned && json.Unmarshal(row.Detail, &said) == nil && said.To == p.To && said.Root == root {
		return nil
	}
	return fmt.Errorf("%w: rows 1 to %d are gone, and row %d does not say that they were pruned: they were cut", ErrBroken, p.To, p.Note)
}

// isSigned checks that a checkpoint covers the note.
func (p *PruneNote) isSigned(signed uint64) error {
	if p.Note <= signed {
		return nil
	}
	return fmt.Errorf("%w: rows 1 to %d are gone, and row %d, by which they were pruned, is not signed: they were cut", ErrBroken, p.To, p.Note)
}

// checkPruneNote checks that what was pruned is said in a row that is signed.
func (r *Reader) checkPruneNote(ctx context.Context, signed uint64) error {
	p, err := r.PruneNote(ctx)
	if err != nil || p.To == 0 {
		return err
	}
	if err := p.isSigned(signed); err != nil {
		return err
	}
	root, err := tlog.TreeHash(int64(p.To), r.hashes(ctx))
	if _, missing := errors.AsType[*PruneNote](err); missing {
		err = fmt.Errorf("%w: the hashes of rows 1 to %d, which were pruned, are missing", ErrBroken, p.To)
	}
	if err != nil {
		return err
	}
	_, raw, err := r.record(ctx, p.Note)
	if err != nil {
		return err
	}
	row, err := decodeRow(p.Note, raw)
	if err != nil {
		return err
	}
	return p.checkNote(&row, root)
}

// spareHash is a hash that was kept of what was pruned. why is the error of who
// finds none.
func (r *Reader) spareHash(ctx context.Context, index int64, why error) (h tlog.Hash, err error) {
	raw, _, err := r.view.Get(ctx, hashKey(index))
	switch {
	case err != nil:
		return h, err
	case raw == nil:
		return h, why
	case len(raw) != len(h):
		return h, fmt.Errorf("%w: hash %d of the rows that were pruned cannot be read", ErrBroken, index)
	}
	return tlog.Hash(raw), nil
}

// passOver checks the checkpoints over rows that were pruned, and takes them off
// those that are still to come: each continues the one before, and the last is
// over all of those rows.
func (v *verification) passOver(p PruneNote, hashes tlog.HashReader) error {
	var last Checkpoint
	for len(v.ahead) > 0 && v.ahead[0].Size <= p.To {
		c := v.ahead[0]
		v.ahead = v.ahead[1:]
		if c.Size == 0 {
			continue
		}
		if err := continues(last, c, hashes); err != nil {
			return err
		}
		last = c
	}
	if last.Size != p.To {
		return fmt.Errorf("%w: rows 1 to %d are gone, and no checkpoint was signed over them: they were cut", ErrBroken, p.To)
	}
	v.pruned, v.report.Signed = p, p.To
	v.pruned.Root = last.Root
	t, err := grown(p.To, hashes)
	v.tree = t
	return err
}

// continues checks by the hashes of the tree that a checkpoint is over its rows,
// and continues an earlier one, unless that is zero.
func continues(last, c Checkpoint, hashes tlog.HashReader) error {
	root, err := tlog.TreeHash(int64(c.Size), hashes)
	if err == nil && root != c.Root {
		return rewriteError(c.Size)
	}
	if err == nil && last.Size > 0 && last.Size < c.Size {
		var proof tlog.TreeProof
		if proof, err = tlog.ProveTree(int64(c.Size), int64(last.Size), hashes); err == nil {
			if tlog.CheckTree(proof, int64(c.Size), c.Root, int64(last.Size), last.Root) != nil {
				return rewriteError(last.Size)
			}
		}
	}
	if _, pruned := errors.AsType[*PruneNote](err); pruned {
		return fmt.Errorf("%w: a checkpoint was signed over %d rows that the ledger did not have when these were pruned", ErrBroken, c.Size)
	}
	return err
}
