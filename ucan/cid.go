package ucan

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"

	"github.com/multiformats/go-multibase"
)

// errCID says that a text or a link is not the CID of a token.
var errCID = errors.New("not the CID of a token")

// The two codecs of a token's CID. A sealed UCAN 1.0 token is dag-cbor, a JWT is
// raw bytes: the exact ASCII text that was signed.
const (
	codecDagCBOR = 0x71
	codecRaw     = 0x55
)

// cidBytes is the length of a binary CIDv1 with a one-byte codec and SHA2-256.
const cidBytes = 4 + sha256.Size

// CID names a token by its content: CIDv1, SHA2-256, dag-cbor for the native
// format and raw for JWT. It is comparable with == and prints in base32, the
// canonical spelling "bafy…" or "bafk…".
type CID struct {
	codec byte
	hash  [sha256.Size]byte
}

var (
	_ encoding.TextMarshaler   = CID{}
	_ encoding.TextUnmarshaler = (*CID)(nil)
	_ fmt.Stringer             = CID{}
)

func cidOf(codec byte, content []byte) CID {
	return CID{codec, sha256.Sum256(content)}
}

// ParseCID reads the CID of a token in base32 ("b…") or base58btc ("z…"). Other
// hashes (BLAKE3 among them) and codecs are refused: a token has one CID.
func ParseCID(s string) (CID, error) {
	const most = 80 // base32 needs 59, base58btc 50
	if len(s) > most || s == "" || (s[0] != 'b' && s[0] != 'z') {
		return CID{}, fmt.Errorf("%w: %s: write it in base32, bafy… or bafk…", errCID, quoteShort(s))
	}
	b, err := fromMultibase(s)
	if err != nil {
		return CID{}, fmt.Errorf("%w: %s: %w", errCID, quoteShort(s), err)
	}
	c, ok := cidFromBytes(b)
	if !ok {
		return CID{}, fmt.Errorf("%w: %s: it must be CIDv1, dag-cbor or raw, SHA2-256", errCID, quoteShort(s))
	}
	return c, nil
}

// fromMultibase reads a text in any base, in its one spelling.
func fromMultibase(text string) ([]byte, error) {
	base, b, err := multibase.Decode(text)
	if err != nil {
		return nil, err
	}
	if again, err := multibase.Encode(base, b); err != nil || again != text {
		return nil, fmt.Errorf("%w: the multibase text has another spelling", ErrNotCanonical)
	}
	return b, nil
}

// inMultibase spells bytes in a base that exists.
func inMultibase(base multibase.Encoding, b []byte) string {
	text, err := multibase.Encode(base, b)
	if err != nil {
		panic("ucan: a base is missing from go-multibase: " + err.Error())
	}
	return text
}

// cidFromBytes reads the binary form.
func cidFromBytes(b []byte) (CID, bool) {
	if len(b) != cidBytes || b[0] != 1 || (b[1] != codecDagCBOR && b[1] != codecRaw) || !bytes.Equal(b[2:4], []byte{0x12, 0x20}) {
		return CID{}, false
	}
	return CID{b[1], [sha256.Size]byte(b[4:])}, true
}

// Bytes returns the binary CID, 36 bytes; nil for the zero CID.
func (c CID) Bytes() []byte {
	if c.IsZero() {
		return nil
	}
	return append([]byte{1, c.codec, 0x12, 0x20}, c.hash[:]...)
}

// String returns the base32 spelling, "" for the zero CID.
func (c CID) String() string {
	if c.IsZero() {
		return ""
	}
	return inMultibase(multibase.Base32, c.Bytes())
}

// IsZero reports whether c names nothing.
func (c CID) IsZero() bool { return c.codec == 0 }

// MarshalText is [CID.String].
func (c CID) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is [ParseCID].
func (c *CID) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCID(string(text))
	return err
}
