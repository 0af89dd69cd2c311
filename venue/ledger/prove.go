package ledger

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"usher/tools/fault"
)

// Proof shows that a row is in the ledger, to whoever knows the venue's DID.
type Proof struct {
	Row        string           `json:"row"`        // as it was hashed
	Index      uint64           `json:"index"`      // of the leaf: the row's number less 1
	Hashes     tlog.RecordProof `json:"hashes"`     // in base64, from the leaf up
	Checkpoint string           `json:"checkpoint"` // a signed note
}

// Prove makes the proof of a row, under the newest checkpoint or, if that does
// not cover the row, under a new one.
func (l *Ledger) Prove(ctx context.Context, seq uint64) (Proof, error) {
	c := l.LastCheckpoint()
	if seq > c.Size {
		var err error
		if c, err = l.Checkpoint(ctx); err != nil {
			return Proof{}, err
		}
	}
	if seq == 0 || seq > c.Size {
		return Proof{}, fault.New(fault.NotFound, fmt.Sprintf("there is no row %d: the ledger has %d, beginning with row 1", seq, c.Size))
	}
	if p, err := l.PruneNote(ctx); err != nil {
		return Proof{}, err
	} else if seq <= p.To {
		return Proof{}, &p
	}
	_, row, err := l.record(ctx, seq)
	if err != nil {
		return Proof{}, err
	}
	hashes, err := tlog.ProveRecord(int64(c.Size), int64(seq-1), l.hashes(ctx))
	if err != nil {
		return Proof{}, err
	}
	if err := tlog.CheckRecord(hashes, int64(c.Size), c.Root, int64(seq-1), tlog.RecordHash(row)); err != nil {
		return Proof{}, fmt.Errorf("%w: row %d is not the one that a checkpoint was signed over: %w", ErrBroken, seq, err)
	}
	return Proof{string(row), seq - 1, hashes, c.Note}, nil
}

// Text is the proof in the form of C2SP (tlog-proof), with the row as the extra
// data.
func (p *Proof) Text() string {
	b := []byte("c2sp.org/tlog-proof@v1\nextra ")
	b = base64.StdEncoding.AppendEncode(b, []byte(p.Row))
	b = append(b, "\nindex "...)
	b = strconv.AppendUint(b, p.Index, 10)
	b = append(b, '\n')
	for _, h := range p.Hashes {
		b = append(append(b, h.String()...), '\n')
	}
	return string(append(append(b, '\n'), p.Checkpoint...))
}
