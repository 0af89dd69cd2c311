package ucan

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"
)

// ErrSealed says that a sealed box does not open: another sealing key, another name,
// or damage. Which of them is not said.
var ErrSealed = errors.New("sealed box does not open; the sealing key or the name is another, or the box is damaged")

// Sealer encrypts secrets for storage (XChaCha20-Poly1305). The secret's name is
// authenticated with it, so a box that was moved to another name does not open. Safe
// for concurrent use.
type Sealer struct {
	secret
	aead cipher.AEAD

	mu   sync.Mutex // a passed-in rand need not be safe for concurrent use
	rand io.Reader
}

// NewSealer seals with the secret of a key that is used for nothing else. rand makes
// the nonces; it is crypto/rand.Reader outside tests.
func NewSealer(k Key, rand io.Reader) (*Sealer, error) {
	seed := k.seed()
	defer clear(seed)
	aead, err := chacha20poly1305.NewX(seed)
	if err != nil {
		return nil, fmt.Errorf("new sealer: the key is zero or erased: %w", err)
	}
	return &Sealer{aead: aead, rand: rand}, nil
}

// Seal encrypts secret for name, with a fresh nonce, which the box begins with.
func (s *Sealer) Seal(name string, secret []byte) ([]byte, error) {
	size := s.aead.NonceSize()
	box := make([]byte, size, size+len(secret)+s.aead.Overhead())
	s.mu.Lock()
	_, err := io.ReadFull(s.rand, box)
	s.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("seal %q: %w", name, err)
	}
	return s.aead.Seal(box, box, secret, []byte(name)), nil
}

// Open decrypts a box that [Sealer.Seal] made for the same name; every failure
// is [ErrSealed].
func (s *Sealer) Open(name string, box []byte) ([]byte, error) {
	size := s.aead.NonceSize()
	if len(box) < size {
		return nil, ErrSealed
	}
	secret, err := s.aead.Open(nil, box[:size], box[size:], []byte(name))
	if err != nil {
		return nil, ErrSealed
	}
	return secret, nil
}

// Seal returns the key encrypted for storage, its DID bound inside.
func (k Key) Seal(s *Sealer) ([]byte, error) {
	seed := k.seed()
	defer clear(seed)
	if seed == nil {
		return nil, errors.New("seal key: it is zero or erased")
	}
	return s.Seal(keyName(k.DID()), seed)
}

// OpenKey reads what [Key.Seal] wrote for the key of did; any other key is an
// error.
func OpenKey(s *Sealer, did DID, box []byte) (Key, error) {
	seed, err := s.Open(keyName(did), box)
	defer clear(seed)
	var k Key
	if err == nil {
		k, err = KeyFromSeed(seed)
	}
	if err == nil && k.DID() != did {
		err = fmt.Errorf("the box holds the key of %s", k.DID())
	}
	if err != nil {
		return Key{}, fmt.Errorf("open key of %s: %w", did, err)
	}
	return k, nil
}

func keyName(d DID) string { return "ed25519 " + d.String() }
