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
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
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

// missingBefore names the segment that is missing before one.
func missingBefore(dir string, s segment) string {
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
				return nil, damaged(s.path, 0, errors.New("its name is not that of a segment: move it out of the folder"))
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

func damaged(file string, offset int64, err error) error { return &DamageError{file, offset, err} }

// tail is where a walk through the journal ended.
type tail struct {
	moment // after the last record; zero where there is none
	last   segment
	offset int64 // behind it, in the last segment
	torn   bool  // a record follows that was not written whole, and so not acknowledged
}

// walk reads the records of segments that follow each other, in order. It takes a record at their
// end that was not written whole as none, and everything else that is not as it was written as
// damage. The record is valid until the function returns; an error of that ends the walk.
func walk(all []segment, each func(*record) error) (end tail, err error) {
	chain := uint32(0)
	for i, s := range all {
		raw, size, err := s.read()
		if err != nil {
			return end, damaged(s.path, 0, err)
		}
		end.last, end.offset = s, 0
		d := wal.NewDecoder(&image{Reader: padded(raw, size), name: filepath.Base(s.path), size: size})
		for first := true; ; first = false {
			end.offset = d.LastOffset()
			var rec walpb.Record
			err := d.Decode(&rec)
			if err != nil || first && rec.GetType() != wal.CrcType {
				if err == nil {
					err = errors.New("it does not begin as a segment does")
				}
				if err := s.ended(raw, size, end.offset, end.position, err, i == len(all)-1, &end.torn); err != nil {
					return end, err
				}
				break
			}
			if d.LastOffset()%8 != 0 { // what follows would not be found
				return end, damaged(s.path, end.offset, errors.New("the length of a record is not what it was"))
			}
			switch rec.GetType() {
			case wal.CrcType:
				if !first || i > 0 && rec.GetCrc() != chain {
					return end, damaged(s.path, end.offset, errors.New("it does not continue the segment before it"))
				}
				d.UpdateCRC(rec.GetCrc())
			case wal.EntryType:
				r, err := decodeEntry(rec.Data)
				switch {
				case err == nil && end.position > 0 && r.position != end.position+1:
					err = fmt.Errorf("record %d follows record %d", r.position, end.position)
				case err == nil && end.position == 0 && r.position != max(s.first, 1):
					err = fmt.Errorf("it begins with record %d in place of %d", r.position, s.first)
				}
				if err != nil {
					return end, damaged(s.path, end.offset, err)
				}
				end.position, end.time, end.sum = r.position, r.time, r.sum
				if err := each(&r); err != nil {
					return end, err
				}
			}
		}
		chain = d.LastCRC()
	}
	return end, nil
}

// ended says whether a segment may end at an offset: at its end, where nothing but zeros follows,
// and, the last one, with a record that was not written whole.
func (s segment) ended(raw []byte, size, offset int64, position uint64, why error, last bool, torn *bool) error {
	rest := raw[min(offset, int64(len(raw))):]
	clean := zeros(rest)
	if errors.Is(why, io.EOF) && clean && (last || offset >= size) {
		return nil
	}
	rest = append(rest, make([]byte, max(0, size-max(offset, int64(len(raw)))))...)
	switch {
	case !last, !errors.Is(why, io.EOF) && !errors.Is(why, io.ErrUnexpectedEOF), recordIn(rest, position):
		if errors.Is(why, io.EOF) || errors.Is(why, io.ErrUnexpectedEOF) {
			why = errors.New("a record is missing or cut")
		}
		return damaged(s.path, offset, why)
	}
	if *torn = !clean; *torn && size < segmentSize { // it is allocated before it is used, and a crash takes nothing of that
		return damaged(s.path, offset, fmt.Errorf("it is cut in the middle of a record: it has %d bytes in place of %d", size, segmentSize))
	}
	return nil
}

// zeros reports whether bytes are all zero: the first is, and each is as the one before it.
func zeros(raw []byte) bool {
	return len(raw) == 0 || raw[0] == 0 && bytes.Equal(raw[1:], raw[:len(raw)-1])
}

// recordIn reports whether a record above a position stands anywhere in bytes of a segment.
func recordIn(raw []byte, above uint64) bool {
	for r := range sound(raw) {
		if r.position > above {
			return true
		}
	}
	return false
}

func decodeEntry(data []byte) (r record, err error) {
	var e raftpb.Entry
	if err := proto.Unmarshal(data, &e); err != nil {
		return r, errNoRecord
	}
	if r, err = readRecord(e.Data); err == nil && e.GetIndex() != r.position {
		err = errNoRecord
	}
	return r, err
}

// load reads a segment whole: some 16 MB.
func (s segment) load() ([]byte, error) {
	raw, size, err := s.read()
	return append(raw, make([]byte, size-int64(len(raw)))...), err
}

// read reads a segment, and returns it without most of the zeros at its end: size counts them too. A
// young one is nearly all zeros.
func (s segment) read() (raw []byte, size int64, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if strings.HasSuffix(s.path, packedExt) {
		z, err := unpacker(f)
		if err != nil {
			return nil, 0, err
		}
		defer z.Close()
		raw, err = io.ReadAll(z)
		return raw, int64(len(raw)), err
	}
	part := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(f, part)
		if !zeros(part[:n]) {
			if size > 0 {
				raw = slices.Grow(raw, max(0, segmentSize-len(raw)))
			}
			raw = append(raw, make([]byte, size-int64(len(raw)))...)
			raw = append(raw, part[:n]...)
		}
		size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return raw, size, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// padded reads what read returned, with all its zeros.
func padded(raw []byte, size int64) io.Reader {
	return io.MultiReader(bytes.NewReader(raw), io.LimitReader(nought{}, size-int64(len(raw))))
}

// nought is zeros without an end.
type nought struct{}

func (nought) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// image is a segment in memory, as the log's decoder takes it.
type image struct {
	io.Reader
	name string
	size int64
}

func (i *image) FileInfo() (fs.FileInfo, error) { return i, nil }

func (i *image) Name() string       { return i.name }
func (i *image) Size() int64        { return i.size }
func (i *image) Mode() fs.FileMode  { return 0o600 }
func (i *image) ModTime() time.Time { return time.Time{} }
func (i *image) IsDir() bool        { return false }
func (i *image) Sys() any           { return nil }
