package ucan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
)

// secret is embedded in what holds one: there is no verb and no encoder that prints
// it.
type secret struct{}

const redacted = "[redacted]"

var (
	_ fmt.Formatter  = secret{}
	_ slog.LogValuer = secret{}
)

// Format prints "[redacted]" for every verb, as LogValue and MarshalText do.
func (secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue is Format for logs.
func (secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is Format for encoders, of JSON too.
func (secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// readPrivate returns the one line of a file that its owner alone can read. One that
// its group or others can read is refused.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The open file is asked, not the path: what is checked is what is read.
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s can be read or written by others (mode %#o); run chmod 600 on it, and make a new key if it was exposed", path, perm)
	}
	line, err := io.ReadAll(io.LimitReader(f, 256))
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// writePrivate writes a file of one line that its owner alone can read. It is
// written under another name and linked: the name appears with its whole content or
// not at all, and a file that is there is never replaced: the error wraps
// [os.ErrExist].
func writePrivate(path string, line []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".key-*") // O_EXCL and 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(line)
	_, ends := f.WriteString("\n")
	if err = errors.Join(err, ends, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
