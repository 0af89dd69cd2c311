package ucan

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"golang.org/x/crypto/nacl/secretbox"
)

// ErrSealed says that a sealed box does not open: another key-encryption key,
// another name, or damage. Which of them is not said.
var ErrSealed = errors.New("sealed box does not open; the key-encryption key or the name is another, or the box is damaged")

const (
	kekSize     = 32
	nonceSize   = 24
	boxVersion  = 1
	boxOverhead = 1 + nonceSize + secretbox.Overhead
)

// Sealer encrypts secrets for storage with secretbox (XSalsa20-Poly1305) under
// one key-encryption key. The secret's name is part of what is encrypted, so a
// box that was moved to another name does not open. Safe for concurrent use.
type Sealer struct {
	secret
	kek [kekSize]byte

	mu   sync.Mutex // a passed-in rand need not be safe for concurrent use
	rand io.Reader
}

// NewSealer uses a key-encryption key of 32 bytes, which it copies.
func NewSealer(kek []byte) (*Sealer, error) { return newSealer(kek, rand.Reader) }

func newSealer(kek []byte, random io.Reader) (*Sealer, error) {
	if len(kek) != kekSize {
		return nil, fmt.Errorf("new sealer: the key-encryption key has %d bytes; it needs %d", len(kek), kekSize)
	}
	if allZero(kek) {
		return nil, errors.New("new sealer: the key-encryption key is all zeros; make one from a random source")
	}
	s := &Sealer{rand: random}
	copy(s.kek[:], kek)
	return s, nil
}

// SealerFromFile reads the key-encryption key from a file of one line, 32 bytes
// in base64. On first use it makes the file, readable by its owner alone and
// whole or not at all. A file that its group or others can read is refused. rand
// (crypto/rand.Reader outside tests) makes the key and the nonces.
func SealerFromFile(path string, rand io.Reader) (*Sealer, error) {
	kek, err := readKEK(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKEK(path, rand); err == nil || errors.Is(err, fs.ErrExist) {
			kek, err = readKEK(path) // another process may have been first
		}
	}
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	defer clear(kek)
	return newSealer(kek, rand)
}

func readKEK(path string) ([]byte, error) {
	line, err := readPrivate(path)
	defer clear(line)
	if err != nil {
		return nil, err
	}
	kek := make([]byte, base64.StdEncoding.DecodedLen(len(line)))
	n, err := base64.StdEncoding.Strict().Decode(kek, line)
	if err != nil || n != kekSize {
		clear(kek)
		return nil, fmt.Errorf("%s does not hold one line with %d bytes in base64; restore it from a backup", path, kekSize)
	}
	return kek[:n], nil
}

func makeKEK(path string, rand io.Reader) error {
	kek := make([]byte, kekSize)
	defer clear(kek)
	if _, err := io.ReadFull(rand, kek); err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	line := make([]byte, 0, 1+base64.StdEncoding.EncodedLen(kekSize))
	defer clear(line[:cap(line)])
	return writePrivate(path, base64.StdEncoding.AppendEncode(line, kek))
}

// Seal encrypts secret for name, with a fresh nonce.
func (s *Sealer) Seal(name string, secret []byte) ([]byte, error) {
	if len(name) > 0xffff {
		return nil, fmt.Errorf("seal: the name has %d bytes; at most %d", len(name), 0xffff)
	}
	var nonce [nonceSize]byte
	s.mu.Lock()
	_, err := io.ReadFull(s.rand, nonce[:])
	s.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("seal %q: %w", name, err)
	}
	plain := make([]byte, 0, 2+len(name)+len(secret))
	plain = binary.BigEndian.AppendUint16(plain, uint16(len(name)))
	plain = append(append(plain, name...), secret...)
	defer clear(plain)
	box := make([]byte, 0, boxOverhead+len(plain))
	box = append(append(box, boxVersion), nonce[:]...)
	return secretbox.Seal(box, plain, &nonce, &s.kek), nil
}

// Open decrypts a box that [Sealer.Seal] made for the same name; every failure
// is [ErrSealed].
func (s *Sealer) Open(name string, box []byte) ([]byte, error) {
	if len(box) < boxOverhead || box[0] != boxVersion {
		return nil, ErrSealed
	}
	nonce := [nonceSize]byte(box[1 : 1+nonceSize])
	plain, ok := secretbox.Open(nil, box[1+nonceSize:], &nonce, &s.kek)
	if !ok || len(plain) < 2 {
		return nil, ErrSealed
	}
	n := int(binary.BigEndian.Uint16(plain))
	if len(plain) < 2+n || subtle.ConstantTimeCompare(plain[2:2+n], []byte(name)) != 1 {
		clear(plain)
		return nil, ErrSealed
	}
	return plain[2+n:], nil
}
