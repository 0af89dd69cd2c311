package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"golang.org/x/mod/sumdb/tlog"

	"usher/ucan"
)

// sealed is the last line of an export.
type sealed struct {
	Checkpoint string `json:"checkpoint"`
}

// Export writes the rows as they were hashed, each as a line of JSON, and then
// a line with a checkpoint over all of them. [VerifyExport] reads that back.
func (l *Ledger) Export(ctx context.Context, w io.Writer) (Report, error) {
	c, err := l.Checkpoint(ctx)
	if err != nil {
		return Report{}, err
	}
	out := bufio.NewWriter(w) // keeps its first error for Flush
	v, _ := l.verification(nil)
	v.expect(c)
	err = v.follow(func(yield func([]byte, error) bool) {
		for raw, err := range l.follow(ctx, &v.tree, c.head()) {
			if err == nil {
				_, _ = out.Write(append(raw, '\n'))
			}
			if !yield(raw, err) {
				return
			}
		}
	})
	if err == nil {
		err = json.NewEncoder(out).Encode(sealed{c.Note})
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return Report{}, err
	}
	return v.end()
}

// VerifyExport checks that an export is whole, that its checkpoint is signed by
// the venue, and that it continues the checkpoints that are given as signed
// notes. What contradicts is an error that wraps [ErrBroken].
func VerifyExport(in io.Reader, venue ucan.DID, against ...string) (Report, error) {
	r := NewReader(nil, venue)
	v, err := r.verification(against)
	if err == nil {
		err = v.follow(v.lines(r, bufio.NewReader(in)))
	}
	if err != nil {
		return Report{}, err
	}
	return v.end()
}

// lines yields the rows of an export, by which the tree grows, and expects the
// checkpoint that it ends with.
func (v *verification) lines(r *Reader, in *bufio.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			line, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: the export ends without a checkpoint: it was cut", ErrBroken)
			}
			if err == nil && bytes.HasPrefix(line, []byte(`{"checkpoint":`)) {
				if err = v.seal(r, line, in); err == nil {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			line = line[:len(line)-1]
			v.tree.add(tlog.RecordHash(line), nil)
			if !yield(line, nil) {
				return
			}
		}
	}
}

// seal takes the checkpoint that an export ends with.
func (v *verification) seal(r *Reader, line []byte, rest *bufio.Reader) error {
	var last sealed
	if err := json.Unmarshal(line, &last); err != nil {
		return fmt.Errorf("%w: the checkpoint of the export cannot be read: %w", ErrBroken, err)
	}
	c, err := r.open(last.Checkpoint)
	if err != nil {
		return err
	}
	if c.Size != v.tree.size {
		return fmt.Errorf("%w: the export has %d rows, and its checkpoint was signed over %d", ErrBroken, v.tree.size, c.Size)
	}
	if _, err := rest.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: there is something behind the checkpoint of the export", ErrBroken)
	}
	v.expect(c)
	return nil
}
