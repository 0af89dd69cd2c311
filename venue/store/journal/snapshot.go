package journal

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"usher/venue/store"
)

// snapshot is a file with all rows at one position, below its size in uncompressed bytes. As a
// Zstandard stream it holds: the head of a record without ops (form, position, time, sum), and each
// row as a byte 1, length of the key, key, revision, length of the value, value; a byte 0 ends it.
type snapshot struct {
	path     string
	position uint64
}

const snapshotExt = ".snap.zst"

// snapshots lists the snapshots of a folder, the oldest first.
func snapshots(dir string) (all []snapshot, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, snapshotsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		s := snapshot{path: filepath.Join(dir, snapshotsDir, e.Name())}
		name, ok := strings.CutSuffix(e.Name(), snapshotExt)
		if !ok {
			continue
		}
		if _, err := fmt.Sscanf(name, "%016x", &s.position); err == nil && fmt.Sprintf("%016x", s.position) == name {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b snapshot) int { return cmp.Compare(a.position, b.position) })
	return all, nil
}

// write writes the rows of a view to a file that appears whole.
func (s snapshot) write(at moment, v store.View) (size int64, err error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return 0, err
	}
	return size, replaceFile(s.path, func(f *os.File) error {
		z, err := packer(f)
		if err != nil {
			return err
		}
		r := record{position: at.position, time: at.time, sum: at.sum}
		b := r.append(nil)
		for row, err := range all(v) {
			if err != nil {
				return errors.Join(err, z.Close())
			}
			b = append(b, 1)
			b = binary.AppendUvarint(b, uint64(len(row.Key)))
			b = append(b, row.Key...)
			b = binary.AppendUvarint(b, row.Rev)
			b = binary.AppendUvarint(b, uint64(len(row.Value)))
			b = append(b, row.Value...)
			if len(b) > 64<<10 {
				if _, err := z.Write(b); err != nil {
					return errors.Join(err, z.Close())
				}
				size += int64(len(b))
				b = b[:0]
			}
		}
		_, err = z.Write(append(b, 0))
		size += int64(len(b))
		return errors.Join(err, z.Close())
	})
}

// rows goes through the rows of a snapshot, and ends with an error where they are not what was
// written.
func (s snapshot) rows() iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		if err := s.each(func(row store.Row) bool { return yield(row, nil) }); err != nil {
			yield(store.Row{}, fmt.Errorf("snapshot %s: %w", s.path, err))
		}
	}
}

// each is rows with a function that ends it by false. An error of a snapshot that was read to its
// end says that it is damaged.
func (s snapshot) each(row func(store.Row) bool) error {
	return s.open(func(r *bufio.Reader, head record) error { return eachRow(r, head.sum, row) })
}

// open reads the head of a snapshot, and has its rows read.
func (s snapshot) open(read func(r *bufio.Reader, head record) error) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := unpacker(f)
	if err != nil {
		return err
	}
	defer z.Close()
	r := bufio.NewReaderSize(z, 64<<10)
	head, err := readHead(r, s.position)
	if err != nil {
		return err
	}
	return read(r, head)
}

// eachRow goes through rows until their end, at which they must come to a sum, or until row ends it.
func eachRow(r *bufio.Reader, want Sum, row func(store.Row) bool) error {
	var sum Sum
	for {
		switch more, err := r.ReadByte(); {
		case err != nil:
			return err
		case more == 0:
			if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
				return errors.New("it goes on behind its end")
			}
			if sum != want {
				return fmt.Errorf("it has %d rows that are not the %d it was made of", sum.Rows, want.Rows)
			}
			return nil
		}
		next, err := readRow(r)
		if err != nil {
			return err
		}
		sum.add(hash(next))
		if !row(next) {
			return nil
		}
	}
}

func readHead(r io.Reader, position uint64) (head record, err error) {
	b := make([]byte, headSize+4)
	if _, err := io.ReadFull(r, b); err != nil {
		return head, err
	}
	if head, err = readRecord(b); err == nil && head.position != position {
		err = fmt.Errorf("it is of record %d", head.position)
	}
	return head, err
}

func readRow(r *bufio.Reader) (row store.Row, err error) {
	key, err := readPart(r, store.MaxKeyBytes)
	if err != nil {
		return row, err
	}
	row.Key = string(key)
	if row.Rev, err = binary.ReadUvarint(r); err != nil {
		return row, err
	}
	row.Value, err = readPart(r, store.MaxApplyBytes)
	return row, err
}

func readPart(r *bufio.Reader, most uint64) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err == nil && n > most {
		err = fmt.Errorf("a part of %d bytes", n)
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return b, err
}

// packer compresses what is written to it, in little memory, with a checksum.
func packer(to io.Writer) (*zstd.Encoder, error) {
	return zstd.NewWriter(to, zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
}

// unpacker reads what a packer has made.
func unpacker(from io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
}
