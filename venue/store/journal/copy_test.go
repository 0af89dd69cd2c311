package journal

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyFolder copies a data folder. Those of its files that are shared, which may be nil, are
// one file in both folders: nothing may change them.
func copyFolder(t *testing.T, from, to string, shared func(name string) bool) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		switch target := filepath.Join(to, name); {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case shared != nil && shared(name):
			return os.Link(path, target)
		default:
			return copyFile(path, target)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// copyFile leaves out what is zero, as a segment is for its most part.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	block, zero := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err := io.ReadFull(in, block)
		if n > 0 && !bytes.Equal(block[:n], zero[:n]) {
			if _, err := out.WriteAt(block[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return out.Truncate(at)
		case err != nil:
			return err
		}
	}
}

// isFinal reports whether a file of the folder of TestDamage is one that nothing is written to
// any more: what is archived, the first of the two segments, and the first file of large values.
func isFinal(name string) bool {
	return strings.HasPrefix(name, archiveDir) || strings.HasPrefix(name, filepath.Join(journalDir, "0000000000000002-")) ||
		filepath.Base(name) == "000001.vlog"
}

var seed = maphash.MakeSeed()

// sums are of what the files have that are final.
func sums(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	list := make(map[string]uint64)
	for _, name := range files(t, dir) {
		if isFinal(name) {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			list[name] = maphash.Bytes(seed, raw)
		}
	}
	if len(list) < 4 {
		t.Fatalf("%s has no more than %v", dir, list)
	}
	return list
}
