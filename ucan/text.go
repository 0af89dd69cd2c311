package ucan

import (
	"fmt"

	"github.com/multiformats/go-multibase"
)

// Text returns a token as text: a JWT as it is, a sealed UCAN 1.0 delegation in
// base64url multibase, which begins with "u".
func Text(l *Link) string {
	if l.format == JWT {
		return string(l.raw)
	}
	return sealedText(l.raw)
}

// Text returns the revocation in base64url multibase.
func (r *Revocation) Text() string { return sealedText(r.inv.raw) }

func sealedText(raw []byte) string {
	text, err := multibase.Encode(multibase.Base64url, raw)
	if err != nil {
		panic(err) // only for a base that does not exist
	}
	return text
}

// OpenText is [Open] for the text that [Text] makes.
func OpenText(text string) (*Link, error) {
	raw, err := readText(text)
	if err != nil {
		return nil, err
	}
	return Open(raw)
}

// OpenRevocationText is openRevocation for the text that [Revocation.Text] makes.
func OpenRevocationText(text string) (*Revocation, error) {
	raw, err := readText(text)
	if err != nil {
		return nil, err
	}
	return openRevocation(raw)
}

func readText(text string) ([]byte, error) {
	if len(text) == 0 || text[0] != byte(multibase.Base64url) {
		return []byte(text), nil
	}
	if most := (Limits{}).tokenBytes(); len(text) > 2*most {
		return nil, &VerifyError{Err: ErrTooLarge, Detail: fmt.Sprintf("%d characters", len(text))}
	}
	base, raw, err := multibase.Decode(text)
	if err != nil {
		return nil, malformed("multibase: %v", err)
	}
	if again, err := multibase.Encode(base, raw); err != nil || again != text {
		return nil, &VerifyError{Err: ErrNotCanonical, Detail: "the multibase text has another spelling"}
	}
	return raw, nil
}
