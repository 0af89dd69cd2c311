package ucan

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/multiformats/go-multibase"
)

// ErrKeyText says that a text is not an exported private key. What the text was
// is never part of the error.
var ErrKeyText = errors.New("not an Ed25519 private key in multibase")

const (
	// The multicodec ed25519-priv, 0x1300 as an unsigned varint.
	privHi, privLo = 0x80, 0x26
	privBytes      = 2 + ed25519.SeedSize
	// The longest base58btc of that many bytes, with the letter z before it. The
	// bound keeps base58, which is quadratic, away from long input.
	privText = 1 + 47
)

// Export returns the secret as text: "z", and in base58btc the multicodec
// ed25519-priv and the 32-byte seed. Beside [Key.Seal] it is the one way by which
// a secret leaves the package: it belongs in a file that its owner alone reads,
// see [Key.WriteFile]. Clear it when you no longer need it.
func (k Key) Export() ([]byte, error) {
	seed := k.seed()
	defer clear(seed)
	if seed == nil {
		return nil, errors.New("export key: it is zero or erased")
	}
	b := append(append(make([]byte, 0, privBytes), privHi, privLo), seed...)
	defer clear(b)
	text, err := multibase.Encode(multibase.Base58BTC, b)
	if err != nil {
		return nil, fmt.Errorf("export key: %w", err)
	}
	return []byte(text), nil
}

// parseKey reads what [Key.Export] wrote; another spelling of the same key is
// refused. Every error wraps [ErrKeyText], and none repeats the text.
func parseKey(text []byte) (Key, error) {
	switch {
	case len(text) == 0:
		return Key{}, fmt.Errorf("%w: it is empty", ErrKeyText)
	case bytes.HasPrefix(text, []byte("did:")):
		return Key{}, fmt.Errorf("%w: it is a DID, the public name of a key; the secret is another text", ErrKeyText)
	case text[0] != 'z' || len(text) > privText:
		return Key{}, fmt.Errorf("%w: write one line that begins with z, as usher ucan keygen does", ErrKeyText)
	}
	_, b, err := multibase.Decode(string(text))
	defer clear(b)
	if err != nil { // which would quote the text
		return Key{}, fmt.Errorf("%w: it is not base58btc; restore it from a backup", ErrKeyText)
	}
	if len(b) != privBytes || b[0] != privHi || b[1] != privLo {
		return Key{}, fmt.Errorf("%w: it decodes to something else, or is cut short; restore it from a backup", ErrKeyText)
	}
	k, err := KeyFromSeed(b[2:])
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrKeyText, err)
	}
	again, err := k.Export()
	defer clear(again)
	if err != nil || !bytes.Equal(again, text) {
		return Key{}, fmt.Errorf("%w: it is not spelt canonically", ErrKeyText)
	}
	return k, nil
}

// WriteFile writes the exported key as a file of one line that its owner alone
// can read. The file appears whole or not at all, and one that is there already
// is never replaced: the error wraps [os.ErrExist].
func (k Key) WriteFile(path string) (err error) {
	line, err := k.Export()
	if err != nil {
		return err
	}
	line = append(line, '\n')
	defer clear(line)
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".key-*") // O_EXCL and 0600
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(line)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	if err := os.Link(f.Name(), path); err != nil { // fails where path exists
		return fmt.Errorf("write key file: %w", err)
	}
	return syncDir(dir)
}

// ReadKeyFile reads the file that [Key.WriteFile] wrote. One that its group or
// others can read is refused.
func ReadKeyFile(path string) (Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return Key{}, fmt.Errorf("read key file: %w", err)
	}
	defer f.Close()
	// The open file is asked, not the path: what is checked is what is read.
	info, err := f.Stat()
	if err != nil {
		return Key{}, fmt.Errorf("read key file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Key{}, fmt.Errorf("read key file: %s is not a regular file", path)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 && runtime.GOOS != "windows" {
		return Key{}, fmt.Errorf("read key file: %s can be read or written by others (mode %#o); run chmod 600 on it, and make a new key if it was exposed", path, perm)
	}
	line, err := io.ReadAll(io.LimitReader(f, 256))
	defer clear(line)
	if err != nil {
		return Key{}, fmt.Errorf("read key file: %w", err)
	}
	k, err := parseKey(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
	if err != nil {
		return Key{}, fmt.Errorf("read key file %s: %w", path, err)
	}
	return k, nil
}
