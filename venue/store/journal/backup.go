package journal

import (
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
		if err := putFile(ctx, s.path, whole, put); err != nil {
			return end, err
		}
	}
	for _, s := range p.segments[:len(p.segments)-1] {
		if err := putSegment(ctx, dir, s, put); err != nil {
			return end, err
		}
	}
	// The last is in the journal yet: two more were begun before it could move.
	return end, putFile(ctx, last.last.path, last.offset, put)
}

// whole is the size of a file that is put as long as it is.
const whole = -1

// putFile puts a file under the name that it has in the folder, or so many bytes of it that it begins with.
func putFile(ctx context.Context, from string, size int64, put func(string, int64, io.Reader) error) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	switch err = errors.Join(err, ctx.Err()); {
	case err != nil:
		return err
	case size == whole:
		size = info.Size()
	case size > info.Size():
		return fmt.Errorf("%s has become shorter", from)
	}
	return put(path.Join(filepath.Base(filepath.Dir(from)), filepath.Base(from)), size, io.LimitReader(f, size))
}

// putSegment puts a segment that is full, from wherever it is now.
func putSegment(ctx context.Context, dir string, s segment, put func(string, int64, io.Reader) error) error {
	err := putFile(ctx, s.path, whole, put)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, listed := segments(dir)
	i := slices.IndexFunc(all, func(other segment) bool { return other.seq == s.seq })
	if listed != nil || i < 0 {
		return errors.Join(listed, err)
	}
	return putFile(ctx, all[i].path, whole, put)
}
