package ucan

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
)

// ErrSealed says that a sealed box does not open: another sealing key, another name,
// or damage. Which of them is not said.
var ErrSealed = errors.New("sealed box does not open; the sealing key or the name is another, or the box is damaged")

// Sealer encrypts secrets for storage (AES-256-GCM, with a random nonce that the box
// begins with). The secret's name is authenticated with it, so a box that was moved to
// another name does not open. Safe for concurrent use.
type Sealer struct {
	secret
	aead cipher.AEAD
}

// NewSealer seals with the secret of a key that is used for nothing else.
func NewSealer(k Key) (*Sealer, error) {
	seed := k.seed()
	defer clear(seed)
	block, err := aes.NewCipher(seed)
	if err != nil {
		return nil, fmt.Errorf("new sealer: the key is zero or erased: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Sealer{aead: aead}, err
}

// Seal encrypts secret for name.
func (s *Sealer) Seal(name string, secret []byte) []byte {
	return s.aead.Seal(nil, nil, secret, []byte(name))
}

// Open decrypts a box that [Sealer.Seal] made for the same name; every failure
// is [ErrSealed].
func (s *Sealer) Open(name string, box []byte) ([]byte, error) {
	secret, err := s.aead.Open(nil, nil, box, []byte(name))
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
	return s.Seal(keyName(k.DID()), seed), nil
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
