package ucan

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"

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
	if err != nil {
		return nil, fmt.Errorf("export key: %w", err)
	}
	return []byte(text), nil
}

// parseKey reads what export wrote; another spelling of the same key is
// refused. Every error wraps errKeyText, and none repeats the text.
func parseKey(text []byte) (Key, error) {
	switch {
	case len(text) == 0:
		return Key{}, fmt.Errorf("%w: it is empty", errKeyText)
	case bytes.HasPrefix(text, []byte("did:")):
		return Key{}, fmt.Errorf("%w: it is a DID, the public name of a key; the secret is another text", errKeyText)
	case text[0] != 'z' || len(text) > privText:
		return Key{}, fmt.Errorf("%w: write one line that begins with z, as usher ucan keygen does", errKeyText)
	}
	_, b, err := multibase.Decode(string(text))
	defer clear(b)
	if err != nil { // which would quote the text
		return Key{}, fmt.Errorf("%w: it is not base58btc; restore it from a backup", errKeyText)
	}
	if len(b) != privBytes || b[0] != privHi || b[1] != privLo {
		return Key{}, fmt.Errorf("%w: it decodes to something else, or is cut short; restore it from a backup", errKeyText)
	}
	k, err := KeyFromSeed(b[2:])
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", errKeyText, err)
	}
	again, err := k.export()
	defer clear(again)
	if err != nil || !bytes.Equal(again, text) {
		return Key{}, fmt.Errorf("%w: it is not spelt canonically", errKeyText)
	}
	return k, nil
}

// WriteFile writes the key as a file of one line that its owner alone can read. The
// file appears whole or not at all, and one that is there already is never replaced:
// the error wraps [os.ErrExist].
func (k Key) WriteFile(path string) error {
	line, err := k.export()
	if err != nil {
		return err
	}
	defer clear(line)
	if err := writePrivate(path, line); err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	return nil
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
