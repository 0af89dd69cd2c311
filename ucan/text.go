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
	text, err := multibase.Encode(multibase.Base64url, l.raw)
	if err != nil {
		panic(err) // only for a base that does not exist
	}
	return text
}

// OpenText is [Open] for the text that [Text] makes.
func OpenText(text string) (*Link, error) {
	if len(text) == 0 || text[0] != byte(multibase.Base64url) {
		return Open([]byte(text))
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
	return Open(raw)
}
