package ucan

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"usher/caps/value"
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

// secret is embedded in what holds one: there is no verb and no encoder that prints
// it.
type secret struct{}

var (
	_ fmt.Formatter  = secret{}
	_ slog.LogValuer = secret{}
)

// Format prints "[redacted]" for every verb, as LogValue and MarshalText do.
func (secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, value.Redacted) }

// LogValue is Format for logs.
func (secret) LogValue() slog.Value { return slog.StringValue(value.Redacted) }

// MarshalText is Format for encoders, of JSON too.
func (secret) MarshalText() ([]byte, error) { return []byte(value.Redacted), nil }

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
	var or byte
	for _, b := range seed {
		or |= b
	}
	if or == 0 {
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

// with calls fn with the secret, unless the key is zero or erased.
func (k Key) with(fn func(ed25519.PrivateKey)) {
	if k.p == nil {
		return
	}
	k.p.mu.RLock()
	defer k.p.mu.RUnlock()
	if k.p.key != nil {
		fn(k.p.key)
	}
}

// Sign returns the 64-byte Ed25519 signature of msg. A zero or erased key
// returns nil, which verifies nowhere.
func (k Key) Sign(msg []byte) (sig []byte) {
	k.with(func(key ed25519.PrivateKey) { sig = ed25519.Sign(key, msg) })
	return sig
}

// seed returns a copy; the caller clears it. Nil for a zero or erased key.
func (k Key) seed() (seed []byte) {
	k.with(func(key ed25519.PrivateKey) { seed = key.Seed() })
	return seed
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
