package venuetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// CopyFolder copies a folder with the holes of its files, since the logs of a store are mostly
// that. A file that goes meanwhile is left out.
func CopyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != from {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		switch target := filepath.Join(to, name); {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case d.Type().IsRegular():
			if err := CopyFile(path, target); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// CopyFile copies a file with its mode and its holes.
func CopyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	size, err := blocks(in, func(at int64, block []byte) error {
		_, err := out.WriteAt(block, at)
		return err
	})
	return errors.Join(err, out.Truncate(size), out.Close())
}

// Digest is one of a file's content.
func Digest(path string) ([sha256.Size]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := blocks(f, func(at int64, block []byte) error {
		_ = binary.Write(sum, binary.BigEndian, at)
		_, err := sum.Write(block)
		return err
	})
	_ = binary.Write(sum, binary.BigEndian, size)
	return [sha256.Size]byte(sum.Sum(nil)), err
}

// blocks calls fn with each block of a file that is not zero, and returns the file's size.
func blocks(f *os.File, fn func(at int64, block []byte) error) (size int64, err error) {
	const length = 64 << 10
	block, zero := make([]byte, length), make([]byte, length)
	for at := int64(0); ; {
		at = data(f, at) / length * length
		n, err := f.ReadAt(block, at)
		if n > 0 && !bytes.Equal(block[:n], zero[:n]) {
			if err := fn(at, block[:n]); err != nil {
				return 0, err
			}
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// data is where the next bytes lie that are no hole, where the system can tell.
func data(f *os.File, at int64) int64 {
	const seekData = 3 // lseek(2)
	if runtime.GOOS != "linux" {
		return at
	}
	if next, err := f.Seek(at, seekData); err == nil {
		return next
	}
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end > at { // a hole up to the end
		return end
	}
	return at
}
