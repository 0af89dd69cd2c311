package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"golang.org/x/mod/sumdb/tlog"

	"usher/ucan"
	"usher/venue/store"
)

// exportEnd is the last line of an export.
type exportEnd struct {
	Checkpoint string `json:"checkpoint"`
}

// remains is the first line of an export whose first rows were pruned: what is left
// of them.
type remains struct {
	Pruned      uint64              `json:"pruned"`   // rows
	By          uint64              `json:"prunedBy"` // row that says so
	Hashes      map[int64]tlog.Hash `json:"hashes"`   // of the tree over them, by their numbers
	Checkpoints []string            `json:"checkpoints"`
}

// ReadHashes makes what is left a [tlog.HashReader].
func (f *remains) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		h, ok := f.Hashes[index]
		if !ok {
			return nil, &PruneNote{To: f.Pruned, Note: f.By}
		}
		out[i] = h
	}
	return out, nil
}

// remains reads what is left of the rows that were pruned, and begins with it.
func (v *verification) remains(ctx context.Context, r *Reader, p PruneNote) (*remains, error) {
	f := &remains{Pruned: p.To, By: p.Note, Hashes: make(map[int64]tlog.Hash)}
	var expected []Checkpoint
	for row, err := range store.Rows(ctx, r.view, signPrefix, "") {
		if err != nil {
			return nil, err
		}
		if row.Key > signKey(p.To) {
			break
		}
		c, err := r.openAt(row)
		if err != nil {
			return nil, err
		}
		f.Checkpoints = append(f.Checkpoints, c.Note)
		expected = append(expected, c)
	}
	v.expect(expected...)
	return f, v.passOver(p, noteReads(r.hashes(ctx), f.Hashes))
}

// noteReads returns a [tlog.HashReader] that notes what is read.
func noteReads(hashes tlog.HashReader, in map[int64]tlog.Hash) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found, err := hashes.ReadHashes(indexes)
		for i := range found {
			in[indexes[i]] = found[i]
		}
		return found, err
	})
}

// parseRemains reads the first line of an export whose first rows were pruned.
func parseRemains(line []byte) (*remains, error) {
	var f remains
	err := json.Unmarshal(line, &f)
	if again, _ := json.Marshal(f); err != nil || !bytes.Equal(append(again, '\n'), line) || f.Pruned == 0 || f.Pruned > maxSize || f.By <= f.Pruned {
		return nil, fmt.Errorf("%w: the first line of the export cannot be read: %w", ErrBroken, cmp.Or(err, errors.New("it was changed")))
	}
	return &f, nil
}

// begin takes what is left of pruned rows.
func (f *remains) begin(v *verification, r *Reader) error {
	var expected []Checkpoint
	for _, text := range f.Checkpoints {
		c, err := r.open(text)
		if err != nil {
			return err
		}
		expected = append(expected, c)
	}
	v.expect(expected...)
	return v.passOver(PruneNote{To: f.Pruned, Note: f.By}, f)
}

// Export writes the rows as they were hashed, each as a line of JSON, and then
// a line with a checkpoint over all of them; before them, where rows were pruned,
// a line with what is left of these. [VerifyExport] reads that back.
func (l *Ledger) Export(ctx context.Context, w io.Writer) (Report, error) {
	c, err := l.Checkpoint(ctx)
	if err != nil {
		return Report{}, err
	}
	r, thaw, err := l.freeze(ctx)
	if err != nil {
		return Report{}, err
	}
	defer thaw()
	out := bufio.NewWriter(w) // keeps its first error for Flush
	v, _ := r.verification(nil)
	v.expect(c)
	p, err := r.PruneNote(ctx)
	if err == nil && p.To > 0 {
		var f *remains
		if f, err = v.remains(ctx, r, p); err == nil {
			err = json.NewEncoder(out).Encode(f)
		}
	}
	if err != nil {
		return Report{}, err
	}
	err = v.follow(func(yield func([]byte, error) bool) {
		for raw, err := range r.follow(ctx, &v.tree, c.head()) {
			if err == nil {
				_, _ = out.Write(append(raw, '\n'))
			}
			if !yield(raw, err) {
				return
			}
		}
	})
	if err == nil {
		err = json.NewEncoder(out).Encode(exportEnd{c.Note})
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
			if v.tree.size == 0 && bytes.HasPrefix(line, []byte(`{"pruned":`)) {
				var f *remains
				if f, err = parseRemains(line); err == nil {
					err = f.begin(v, r)
				}
				if err == nil {
					continue
				}
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
	var last exportEnd
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
