package ucan

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/multiformats/go-multibase"
)

// errKeyText says that a text is not an exported private key. What the text was
// is never part of the error.
var errKeyText = errors.New("not an Ed25519 private key in multibase")

const (
	// The multicodec ed25519-priv, 0x1300 as an unsigned varint.
	privHi, privLo = 0x80, 0x26
	privBytes      = 2 + ed25519.SeedSize
	// The longest base58btc of that many bytes, with the letter z before it. The
	// bound keeps base58, which is quadratic, away from long input.
	privText = 1 + 47
)

// export returns the secret as text: "z", and in base58btc the multicodec
// ed25519-priv and the 32-byte seed. The caller clears it.
func (k Key) export() ([]byte, error) {
	seed := k.seed()
	defer clear(seed)
	if seed == nil {
		return nil, errors.New("export key: it is zero or erased")
	}
	b := append(append(make([]byte, 0, privBytes), privHi, privLo), seed...)
	defer clear(b)
	text, err := multibase.Encode(multibase.Base58BTC, b)
	return []byte(text), err
}

// parseKey reads what export wrote; another spelling of the same key is
// refused. Every error wraps errKeyText, and none repeats the text.
func parseKey(text []byte) (Key, error) {
	refuse := func(why string) (Key, error) { return Key{}, fmt.Errorf("%w: %s", errKeyText, why) }
	switch {
	case len(text) == 0:
		return refuse("it is empty")
	case bytes.HasPrefix(text, []byte("did:")):
		return refuse("it is a DID, the public name of a key; the secret is another text")
	case text[0] != 'z' || len(text) > privText:
		return refuse("write one line that begins with z, as usher ucan keygen does")
	}
	_, b, err := multibase.Decode(string(text))
	defer clear(b)
	switch {
	case err != nil: // which would quote the text
		return refuse("it is not base58btc; restore it from a backup")
	case len(b) != privBytes || b[0] != privHi || b[1] != privLo:
		return refuse("it decodes to something else, or is cut short; restore it from a backup")
	}
	k, err := KeyFromSeed(b[2:])
	if err != nil {
		return refuse(err.Error())
	}
	again, err := k.export()
	defer clear(again)
	if err != nil || !bytes.Equal(again, text) {
		return refuse("it is not spelt canonically")
	}
	return k, nil
}

// KeyFromFile reads a key file, and makes it on first use with 32 bytes of rand.
func KeyFromFile(path string, rand io.Reader) (Key, error) {
	k, err := ReadKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if k, err = NewKey(rand); err != nil {
		return Key{}, err
	}
	if err = k.WriteFile(path); errors.Is(err, fs.ErrExist) {
		return ReadKeyFile(path) // another process was first
	}
	return k, err
}

// ReadKeyFile reads the file that [Key.WriteFile] wrote. One that its group or
// others can read is refused.
func ReadKeyFile(path string) (Key, error) {
	line, err := readPrivate(path)
	defer clear(line)
	if err != nil {
		return Key{}, fmt.Errorf("read key file: %w", err)
	}
	k, err := parseKey(line)
	if err != nil {
		return Key{}, fmt.Errorf("read key file %s: %w", path, err)
	}
	return k, nil
}

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

// WriteFile writes the key as a file of one line that its owner alone can read. It
// is written under another name and linked: the file appears whole or not at all,
// and one that is there already is never replaced: the error wraps [os.ErrExist].
func (k Key) WriteFile(path string) error {
	line, err := k.export()
	if err != nil {
		return err
	}
	line = append(line, '\n')
	defer clear(line)
	if err := writePrivate(path, line); err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	return nil
}

func writePrivate(path string, content []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".key-*") // O_EXCL and 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil || runtime.GOOS == "windows" { // where folders cannot be synced
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
