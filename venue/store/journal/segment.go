package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// segment is a file of the journal, in its folder or, compressed, in the archive.
type segment struct {
	path  string
	seq   uint64 // counts segments, from 0 on
	first uint64 // the position that its first record has, or will have
}

const (
	segmentExt = ".wal"
	packedExt  = ".wal.zst"
)

// segments lists those of the archive and of the journal that follow each other up to the newest.
func segments(dir string) ([]segment, error) {
	all, err := listSegments(dir)
	if gap := lastGap(all); gap > 0 {
		all = all[gap:]
	}
	return all, err
}

// lastGap is the number of segments before the last that is missing; 0 where none is.
func lastGap(all []segment) int {
	for i := len(all) - 1; i > 0; i-- {
		if all[i].seq != all[i-1].seq+1 {
			return i
		}
	}
	return 0
}

// gapBefore names the segment that is missing before one.
func gapBefore(dir string, s segment) string {
	return filepath.Join(dir, journalDir, fmt.Sprintf("%016x-*%s", s.seq-1, segmentExt))
}

// listSegments lists all there are, in their order. Where one is in the journal and in the archive, the
// archive's was not finished.
func listSegments(dir string) (all []segment, err error) {
	for _, in := range []struct{ dir, ext string }{{journalDir, segmentExt}, {archiveDir, packedExt}} {
		entries, err := os.ReadDir(filepath.Join(dir, in.dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), in.ext)
			if !ok {
				continue
			}
			s := segment{path: filepath.Join(dir, in.dir, e.Name())}
			if _, err := fmt.Sscanf(name, "%016x-%016x", &s.seq, &s.first); err != nil || segmentName(s) != name {
				return nil, damageIn(s.path, 0, errors.New("its name is not that of a segment: move it out of the folder"))
			}
			if !slices.ContainsFunc(all, func(other segment) bool { return other.seq == s.seq }) {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b segment) int { return cmp.Compare(a.seq, b.seq) })
	return all, nil
}

func segmentName(s segment) string { return fmt.Sprintf("%016x-%016x", s.seq, s.first) }

// DamageError says that a file that nothing can bring back is damaged.
type DamageError struct {
	File   string
	Offset int64 // in bytes; of a compressed file, in what it holds
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("the journal is damaged: %s at byte %d: %v: restore the folder from a backup, or save what is sound with usher doctor --salvage OUT", e.File, e.Offset, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }

func damageIn(file string, offset int64, err error) error { return &DamageError{file, offset, err} }

// tail is where a walk through the journal ended.
type tail struct {
	moment // after the last record; zero where there is none
	last   segment
	offset int64 // behind it, in the last segment
	torn   bool  // a record follows that was not written whole, and so not acknowledged
	chain  uint32
	salt   uint32
}

// walk reads the records of segments that follow each other, in order. It takes a record at their
// end that was not written whole as none, and everything else that is not as it was written as
// damage. The record is valid until the function returns; an error of that ends the walk.
func walk(all []segment, each func(*record) error) (end tail, err error) {
	for i, s := range all {
		img, err := s.read()
		if err != nil {
			return end, damageIn(s.path, 0, err)
		}
		h, err := headOf(img.part(0, headRoom))
		switch {
		case err != nil:
		case h.seq != s.seq || h.first != s.first:
			err = errors.New("its name is that of another segment")
		case i > 0 && (h.chain != end.chain || h.salt != end.salt):
			err = errors.New("it does not continue the segment before it")
		}
		if err != nil {
			return end, damageIn(s.path, 0, err)
		}
		end.last, end.offset, end.chain, end.salt = s, headRoom, h.chain, h.salt
		for {
			data, chain, size, err := img.frame(end.offset, end.chain, end.salt)
			if err != nil {
				if end.torn, err = end.ends(&img, err, i == len(all)-1); err != nil {
					return end, err
				}
				break
			}
			r, err := readRecord(data)
			switch {
			case err != nil:
			case end.position > 0 && r.position != end.position+1:
				err = fmt.Errorf("record %d follows record %d", r.position, end.position)
			case end.position == 0 && r.position != s.first:
				err = fmt.Errorf("it begins with record %d in place of %d", r.position, s.first)
			}
			if err != nil {
				return end, damageIn(s.path, end.offset, err)
			}
			end.position, end.time, end.sum = r.position, r.time, r.sum
			if err := each(&r); err != nil {
				return end, err
			}
			end.offset += size
			end.chain = chain
		}
	}
	return end, nil
}

// ends says whether the segment may end where it does: at its end, where nothing but zeros follows,
// and, the last one, with a record that was not written whole.
func (t *tail) ends(img *image, why error, last bool) (torn bool, err error) {
	rest := img.raw[min(t.offset, int64(len(img.raw))):]
	clean := zeros(rest)
	if errors.Is(why, io.EOF) && clean && (last || t.offset >= img.size) {
		return false, nil
	}
	begun := errors.Is(why, io.EOF) || errors.Is(why, io.ErrUnexpectedEOF)
	switch {
	case !last, !begun, recordIn(img.part(t.offset, img.size), t.salt, t.position):
		if begun {
			why = errors.New("a record is missing or cut")
		}
		return false, damageIn(t.last.path, t.offset, why)
	case !clean && img.size < segmentSize: // it is allocated before it is used, and a crash takes nothing of that
		return false, damageIn(t.last.path, t.offset, fmt.Errorf("it is cut in the middle of a record: it has %d bytes in place of %d", img.size, segmentSize))
	}
	return !clean, nil
}

// zeros reports whether bytes are all zero: the first is, and each is as the one before it.
func zeros(raw []byte) bool {
	return len(raw) == 0 || raw[0] == 0 && bytes.Equal(raw[1:], raw[:len(raw)-1])
}

// recordIn reports whether a record above a position stands anywhere in bytes of a segment.
func recordIn(raw []byte, salt uint32, above uint64) bool {
	for r := range sound(raw, salt) {
		if r.position > above {
			return true
		}
	}
	return false
}

// load reads a segment whole: some 16 MB.
func (s segment) load() ([]byte, error) {
	img, err := s.read()
	return img.part(0, img.size), err
}

// read reads a segment. A young one is nearly all zeros.
func (s segment) read() (img image, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return img, err
	}
	defer f.Close()
	if strings.HasSuffix(s.path, packedExt) {
		z, err := unpacker(f)
		if err != nil {
			return img, err
		}
		defer z.Close()
		raw, err := io.ReadAll(z)
		return image{raw, int64(len(raw))}, err
	}
	part := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(f, part)
		if !zeros(part[:n]) {
			if img.size > 0 {
				img.raw = slices.Grow(img.raw, max(0, segmentSize-len(img.raw)))
			}
			img.raw = append(img.raw, make([]byte, img.size-int64(len(img.raw)))...)
			img.raw = append(img.raw, part[:n]...)
		}
		img.size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return img, nil
		}
		if err != nil {
			return image{}, err
		}
	}
}
