package ucan

import (
	"bytes"
	"crypto/ed25519"
	"encoding"
	"errors"
	"fmt"
	"strings"

	"github.com/multiformats/go-multibase"
)

// errDID says that a text is not a DID this package takes.
var errDID = errors.New("not a usable DID")

const (
	didKey = "did:key:"
	// The multicodec ed25519-pub, as an unsigned varint: did:key, section 3.1.3.
	codecHi, codecLo = 0xed, 0x01
	didKeyBytes      = 2 + ed25519.PublicKeySize
	// Every Ed25519 did:key is "did:key:z" and 47 base58 digits: the leading
	// 0xed fixes the number of digits, and with it the spelling, since a digit
	// that says nothing would be a byte before it. The bound keeps base58, which
	// is quadratic, away from long input.
	didKeyText = len(didKey) + 1 + 47
)

// DID is the decentralised identifier of an Ed25519 key, "did:key:z6Mk…". Only
// [ParseDID] and [Key.DID] make one, so a DID that is not zero is canonical:
// two principals are the same if and only if their DIDs are equal with ==.
type DID struct{ s string }

var (
	_ encoding.TextMarshaler   = DID{}
	_ encoding.TextUnmarshaler = (*DID)(nil)
	_ fmt.Stringer             = DID{}
)

// ParseDID reads the one canonical spelling of an Ed25519 did:key. It resolves
// nothing and calls nobody. Every error wraps errDID.
func ParseDID(s string) (DID, error) {
	if _, err := decodeDID(s); err != nil {
		return DID{}, fmt.Errorf("%w: %s: %w", errDID, quoteShort(s), err)
	}
	// A private copy: s may be a piece of a large token that must not be kept.
	return DID{strings.Clone(s)}, nil
}

func decodeDID(s string) ([]byte, error) {
	rest, ok := strings.CutPrefix(s, didKey)
	switch {
	case !strings.HasPrefix(s, "did:"):
		return nil, errors.New("it does not begin with did:; write did:key:z6Mk…")
	case !ok || !strings.HasPrefix(rest, "z"):
		return nil, errors.New("only the did:key method resolves here, with the key in base58btc; write did:key:z6Mk…")
	case strings.ContainsAny(rest, "/?#;"):
		return nil, errors.New("it is a DID URL; leave out what follows the DID")
	case len(s) > didKeyText:
		return nil, errors.New("it is longer than an Ed25519 key; other key types are not taken")
	}
	_, key, err := multibase.Decode(rest)
	if err != nil {
		return nil, fmt.Errorf("the key is not base58btc: %w", err)
	}
	if len(key) != didKeyBytes || key[0] != codecHi || key[1] != codecLo {
		return nil, errors.New("it is not an Ed25519 key (those begin with did:key:z6Mk)")
	}
	if err := checkPoint(key[2:]); err != nil {
		return nil, err
	}
	return key[2:], nil
}

// DIDOf is the DID of a public key. The error says why the key names nobody.
func DIDOf(pub ed25519.PublicKey) (DID, error) {
	if len(pub) != ed25519.PublicKeySize {
		return DID{}, fmt.Errorf("an Ed25519 key has %d bytes, this one has %d", ed25519.PublicKeySize, len(pub))
	}
	if err := checkPoint(pub); err != nil {
		return DID{}, err
	}
	return didOf(pub), nil
}

// didOf spells a public key.
func didOf(pub ed25519.PublicKey) DID {
	return DID{didKey + inMultibase(multibase.Base58BTC, append([]byte{codecHi, codecLo}, pub...))}
}

// smallOrder lists the y coordinates of the points whose order divides 8. For
// such a public key anybody can make signatures that verify, so it names nobody.
var smallOrder = [][]byte{
	append([]byte{0}, make([]byte, 31)...),
	append([]byte{1}, make([]byte, 31)...),
	[]byte("\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05"),
	[]byte("\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a"),
	append([]byte{0xec}, append(bytes.Repeat([]byte{0xff}, 30), 0x7f)...),
}

// checkPoint refuses the public keys that have a second encoding (y not below
// the field's prime) and those that everybody can sign for.
func checkPoint(pub []byte) error {
	y := bytes.Clone(pub)
	y[31] &= 0x7f
	if y[0] >= 0xed && y[31] == 0x7f && bytes.Count(y[1:31], []byte{0xff}) == 30 {
		return errors.New("the key's point is not encoded canonically; make a new key")
	}
	for _, s := range smallOrder {
		if bytes.Equal(y, s) {
			return errors.New("the key is a point of small order, for which anybody can sign; make a new key")
		}
	}
	return nil
}

// PublicKey returns a copy of the key that the DID spells; nil for the zero DID.
func (d DID) PublicKey() ed25519.PublicKey {
	if d.s == "" {
		return nil
	}
	_, key, err := multibase.Decode(d.s[len(didKey):])
	if err != nil {
		return nil // a DID is only made from what decodes
	}
	return key[2:]
}

// Multikey is the key alone, "z6Mk…"; "" for the zero DID.
func (d DID) Multikey() string { return strings.TrimPrefix(d.s, didKey) }

// IsKeyID reports whether the kid of a JWT names the key: by the DID, the DID URL of the
// key, or the bare multikey.
func (d DID) IsKeyID(kid string) bool {
	key := d.Multikey()
	return kid == key || kid == d.s || kid == d.s+"#"+key
}

// String returns "did:key:z6Mk…", or "" for the zero DID.
func (d DID) String() string { return d.s }

// IsZero reports whether d names nobody.
func (d DID) IsZero() bool { return d.s == "" }

// MarshalText writes the canonical spelling. Leave a zero DID out of JSON with
// the omitzero option: reading it back fails.
func (d DID) MarshalText() ([]byte, error) { return []byte(d.s), nil }

// UnmarshalText is [ParseDID].
func (d *DID) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDID(string(text))
	return err
}

// quoteShort quotes untrusted text for an error, without its whole length.
func quoteShort(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
