package ucan

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Key is a private Ed25519 key. It never prints, and leaves the package sealed by
// [Key.Seal] or in the file of [Key.WriteFile] alone. Copies share one secret, so
// [Key.Zero] reaches them all. Safe for concurrent use.
type Key struct {
	secret
	p *private
}

type private struct {
	did DID
	mu  sync.RWMutex
	key ed25519.PrivateKey // nil once zeroed
}

// NewKey makes a key from 32 bytes of rand, which is crypto/rand.Reader outside
// tests.
func NewKey(rand io.Reader) (Key, error) {
	seed := make([]byte, ed25519.SeedSize)
	defer clear(seed)
	if _, err := io.ReadFull(rand, seed); err != nil {
		return Key{}, fmt.Errorf("make key: %w", err)
	}
	return KeyFromSeed(seed)
}

// KeyFromSeed makes the key of a 32-byte seed (RFC 8032). The seed is copied:
// clear it when you no longer need it.
func KeyFromSeed(seed []byte) (Key, error) {
	if len(seed) != ed25519.SeedSize {
		return Key{}, fmt.Errorf("make key: the seed has %d bytes; it needs %d", len(seed), ed25519.SeedSize)
	}
	if allZero(seed) {
		return Key{}, errors.New("make key: the seed is all zeros; the random source does not work")
	}
	key := ed25519.NewKeyFromSeed(seed)
	return Key{p: &private{did: didOf(key.Public().(ed25519.PublicKey)), key: key}}, nil
}

// DID returns the key's public name; it survives [Key.Zero].
func (k Key) DID() DID {
	if k.p == nil {
		return DID{}
	}
	return k.p.did
}

// IsZero reports whether k is no key at all.
func (k Key) IsZero() bool { return k.p == nil }

// Sign returns the 64-byte Ed25519 signature of msg. A zero or erased key
// returns nil, which verifies nowhere.
func (k Key) Sign(msg []byte) []byte {
	if k.p == nil {
		return nil
	}
	k.p.mu.RLock()
	defer k.p.mu.RUnlock()
	if k.p.key == nil {
		return nil
	}
	return ed25519.Sign(k.p.key, msg)
}

// Zero overwrites the secret in every copy of k.
func (k Key) Zero() {
	if k.p == nil {
		return
	}
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	clear(k.p.key)
	k.p.key = nil
}

// seed returns a copy; the caller clears it. Nil for a zero or erased key.
func (k Key) seed() []byte {
	if k.p == nil {
		return nil
	}
	k.p.mu.RLock()
	defer k.p.mu.RUnlock()
	if k.p.key == nil {
		return nil
	}
	return k.p.key.Seed()
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
	if err != nil {
		return Key{}, fmt.Errorf("open key of %s: %w", did, err)
	}
	defer clear(seed)
	k, err := KeyFromSeed(seed)
	if err != nil {
		return Key{}, fmt.Errorf("open key of %s: %w", did, err)
	}
	if k.DID() != did {
		return Key{}, fmt.Errorf("open key of %s: the box holds the key of %s", did, k.DID())
	}
	return k, nil
}

func keyName(d DID) string { return "ed25519 " + d.String() }

func allZero(b []byte) bool {
	var or byte
	for _, x := range b {
		or |= x
	}
	return or == 0
}
