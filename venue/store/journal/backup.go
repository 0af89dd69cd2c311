package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Place is a moment of a journal.
type Place struct {
	Position uint64    `json:"position"` // of the last record
	Time     time.Time `json:"time"`     // of that
}

// Files hands the files that make a folder up to put, with slashes in their names and their sizes in
// bytes: its format, its snapshots, its archive, and its journal up to the last record that was there
// when Files began. The index is left out. The folder is only read, and another process may write it
// meanwhile. Before the first file the whole journal is read and checked; its damage is a
// [DamageError]. An error that wraps [fs.ErrNotExist] says that a file was removed for its age
// meanwhile: begin again.
func Files(ctx context.Context, dir string, put func(name string, size int64, content io.Reader) error) (end Place, err error) {
	if _, err := checkFolder(dir, true); err != nil {
		return end, fmt.Errorf("read store %q: %w", dir, err)
	}
	p, last, _, err := readAll(ctx, dir)
	if err != nil {
		return end, fmt.Errorf("read store %q: %w", dir, err)
	}
	end = Place{last.position, last.time}
	format := fmt.Sprintf(formatText, folderFormat)
	if err := put(formatFile, int64(len(format)), strings.NewReader(format)); err != nil {
		return end, err
	}
	for _, s := range p.snapshots {
		if err := putFile(ctx, s.path, path.Join(snapshotsDir, filepath.Base(s.path)), put); err != nil {
			return end, err
		}
	}
	for i, s := range p.segments {
		if i < len(p.segments)-1 {
			err = putSegment(ctx, dir, s, put)
		} else {
			err = putEnd(s, last.offset, put)
		}
		if err != nil {
			return end, err
		}
	}
	return end, nil
}

func putFile(ctx context.Context, from, name string, put func(string, int64, io.Reader) error) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	return put(name, info.Size(), io.LimitReader(f, info.Size()))
}

// putSegment puts a segment that is full, from wherever it is now.
func putSegment(ctx context.Context, dir string, s segment, put func(string, int64, io.Reader) error) error {
	name := func(s segment) string {
		return path.Join(filepath.Base(filepath.Dir(s.path)), filepath.Base(s.path))
	}
	err := putFile(ctx, s.path, name(s), put)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, listed := segments(dir)
	i := slices.IndexFunc(all, func(other segment) bool { return other.seq == s.seq })
	if listed != nil || i < 0 {
		return errors.Join(listed, err)
	}
	return putFile(ctx, all[i].path, name(all[i]), put)
}

// putEnd puts the last segment up to the end of its last record. It is in the journal yet: two
// more were begun before it could move.
func putEnd(s segment, size int64, put func(string, int64, io.Reader) error) error {
	raw, err := s.load()
	if err == nil && int64(len(raw)) < size {
		err = fmt.Errorf("%s has become shorter", s.path)
	}
	if err != nil {
		return err
	}
	return put(path.Join(journalDir, segmentName(s)+segmentExt), size, bytes.NewReader(raw[:size]))
}
