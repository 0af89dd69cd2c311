package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"usher/venue/store"
	"usher/venue/store/memory"
)

// SalvageResult says what was saved of a damaged folder, and what was not.
type SalvageResult struct {
	From    uint64   `json:"from"`    // position of the snapshot that it begins with; 0: none
	Records uint64   `json:"records"` // of the journal, that were read after it
	Last    Place    `json:"last"`
	Lost    []string `json:"lost"` // what is not sound: files, and positions of records
	Rows    uint64   `json:"rows"`
}

// Salvage reads what is sound of a folder, which it only reads: the newest snapshot that is good, and
// all records after it that can be read, also behind damage. The rows that this gives go to a new
// journal in the folder out, which the caller closes. Where records are lost, later ones may have been
// written by whoever had read those. Records that a cut took from the end are lost too, as far as the
// note of where the journal ended tells. A folder of which nothing is sound is an error.
func Salvage(ctx context.Context, dir, out string, o *Options) (s SalvageResult, j *Journal, err error) {
	rows := memory.OpenIndex()
	kept, err := snapshots(dir)
	if err != nil {
		return s, nil, err
	}
	for n := len(kept) - 1; n >= 0 && s.From == 0; n-- {
		if err := kept[n].verify(ctx); err != nil {
			s.Lost = append(s.Lost, fmt.Sprintf("snapshot %s: %v", filepath.Base(kept[n].path), err))
			continue
		}
		s.From = kept[n].position
		for row, err := range kept[n].rows() {
			if err == nil {
				err = rows.Write(row.Rev, []store.Op{{Kind: store.OpPut, Key: row.Key, Value: row.Value}})
			}
			if err != nil {
				return s, nil, err
			}
		}
	}
	s.Last.Position = s.From
	list, err := listSegments(dir)
	if err != nil {
		return s, nil, err
	}
	salt, found := saltOf(dir, list)
	if !found && len(list) > 0 {
		s.Lost = append(s.Lost, "all segments: none begins as one does")
		list = nil
	}
	for _, segment := range list {
		raw, err := segment.load()
		if err != nil {
			s.Lost = append(s.Lost, fmt.Sprintf("%s: %v", filepath.Base(segment.path), err))
			continue
		}
		for r := range sound(raw, salt) {
			if err := ctx.Err(); err != nil {
				return s, nil, err
			}
			if err := s.take(r, rows); err != nil {
				return s, nil, err
			}
		}
	}
	if was, err := readEnds(dir); err == nil && was.Position > s.Last.Position {
		s.lose(s.Last.Position+1, was.Position)
	}
	if s.Last.Position == 0 {
		return s, nil, errors.New("nothing of the folder is sound: restore it from a backup")
	}
	if j, err = Open(out, o); err != nil {
		return s, nil, err
	}
	if s.Rows, err = copyRows(ctx, rows, j); err != nil {
		return s, nil, errors.Join(err, j.Close())
	}
	return s, j, nil
}

// saltOf finds the salt of a folder in whichever head of a segment is sound, or else in the note.
func saltOf(dir string, all []segment) (salt uint32, found bool) {
	for _, s := range all {
		img, err := s.read()
		for at := int64(0); err == nil && at < headRoom; at += sectorSize {
			if h, err := readSegmentHead(img.part(at, at+sectorSize)); err == nil {
				return h.salt, true
			}
		}
	}
	was, err := readEnds(dir)
	return was.Salt, err == nil && was.Last != ""
}

// take writes a record that is behind all before.
func (s *SalvageResult) take(r *record, rows *memory.Index) error {
	if r.position <= s.Last.Position {
		return nil
	}
	if from := s.Last.Position + 1; r.position != from {
		s.lose(from, r.position-1)
	}
	s.Last = Place{r.position, r.time}
	s.Records++
	for i := range r.ops {
		r.ops[i].Value = bytes.Clone(r.ops[i].Value) // a part of the segment
	}
	return rows.Write(r.position, r.ops)
}

// lose lists the records from one position to another.
func (s *SalvageResult) lose(from, to uint64) {
	lost := fmt.Sprintf("records %d to %d", from, to)
	if from == to {
		lost = fmt.Sprintf("record %d", from)
	}
	s.Lost = append(s.Lost, lost)
}

// sound yields the records in bytes of a segment that can be read, in their order. Where the start of
// a frame is sound, no other is looked for in its record.
func sound(raw []byte, salt uint32) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for len(raw) >= frameHead {
			n, err := frameLength(raw, salt)
			if err != nil {
				raw = raw[frameAlign:]
				continue
			}
			size := frameSize(n)
			if size > int64(len(raw)) {
				return
			}
			if r, err := readRecord(raw[frameHead : frameHead+n]); err == nil && !yield(&r) {
				return
			}
			raw = raw[size:]
		}
	}
}

// copyRows writes all rows of one store to another.
func copyRows(ctx context.Context, from *memory.Index, to *Journal) (n uint64, err error) {
	w := store.NewWriter(&to.Space)
	for row, err := range all(from) {
		if err == nil {
			err = w.Put(ctx, row.Key, row.Value)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, w.Flush(ctx)
}
