package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	out := bufio.NewWriter(w)
	v := &verification{open: make(map[uint64]bool)}
	v.expect(c)
	for record, err := range l.raw(ctx, 1) {
		if err != nil {
			return Report{}, err
		}
		if v.tree.size == c.Size { // written since
			break
		}
		raw, err := v.tree.check(record)
		if err == nil {
			err = v.row(raw)
		}
		if err == nil {
			_, err = out.Write(append(raw, '\n'))
		}
		if err != nil {
			return Report{}, err
		}
	}
	last, err := json.Marshal(sealed{c.Note})
	if err == nil {
		_, err = out.Write(append(last, '\n'))
	}
	if err == nil {
		err = out.Flush()
	}
	return finished(v, err)
}

func finished(v *verification, err error) (Report, error) {
	if err == nil {
		err = v.reached() // where there is no row
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
		err = v.reached()
	}
	if err != nil {
		return Report{}, err
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return Report{}, fmt.Errorf("%w: the export ends without a checkpoint: it was cut", ErrBroken)
		}
		if err != nil {
			return Report{}, err
		}
		line = line[:len(line)-1]
		if bytes.HasPrefix(line, []byte(`{"checkpoint":`)) {
			return v.seal(r, line, lines)
		}
		if err := v.leaf(line); err != nil {
			return Report{}, err
		}
	}
}

// seal takes the checkpoint that an export ends with.
func (v *verification) seal(r *Reader, line []byte, rest *bufio.Reader) (Report, error) {
	var last sealed
	if err := json.Unmarshal(line, &last); err != nil {
		return Report{}, fmt.Errorf("%w: the checkpoint of the export cannot be read: %w", ErrBroken, err)
	}
	c, err := r.open(last.Checkpoint)
	if err != nil {
		return Report{}, err
	}
	if c.Size != v.tree.size {
		return Report{}, fmt.Errorf("%w: the export has %d rows, and its checkpoint was signed over %d", ErrBroken, v.tree.size, c.Size)
	}
	if _, err := rest.ReadByte(); !errors.Is(err, io.EOF) {
		return Report{}, fmt.Errorf("%w: there is something behind the checkpoint of the export", ErrBroken)
	}
	v.expect(c)
	return finished(v, nil)
}
