package ucan

import (
	"fmt"

	"github.com/multiformats/go-multibase"
)

// Text returns the token as text: a JWT as it is, a sealed UCAN 1.0 delegation in
// base64url multibase, which begins with "u".
func (l *Link) Text() string {
	if l.Format == JWT {
		return string(l.raw)
	}
	return inMultibase(multibase.Base64url, l.raw)
}

// Text returns the revocation in base64url multibase.
func (r *Revocation) Text() string { return inMultibase(multibase.Base64url, r.raw) }

// Text returns the invocation in base64url multibase.
func (i *Invocation) Text() string { return inMultibase(multibase.Base64url, i.Raw) }

// OpenInvocationText is [OpenInvocation] for the text that [Invocation.Text] makes, in any multibase.
func OpenInvocationText(text string) (*Invocation, error) {
	raw, err := readText(text)
	if err != nil {
		return nil, err
	}
	return OpenInvocation(raw)
}

// OpenText is [Open] for a token as text: a JWT, or a sealed one in any multibase.
func OpenText(text string) (*Link, error) { return believed(ReadText(text)) }

// ReadText is [OpenText] for a token that is to be shown, whatever is wrong with
// it: [Link.Err] says what. Its form is right.
func ReadText(text string) (*Link, error) {
	raw, err := readText(text)
	if err != nil {
		return nil, err
	}
	return Limits{}.decode(raw)
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
	if len(text) == 0 || text[0] == 'e' { // a JWT, which is no multibase
		return []byte(text), nil
	}
	if most := 2*(Limits{}).tokenBytes() + 1; len(text) > most { // in hex
		return nil, &VerifyError{Err: ErrTooLarge, Detail: fmt.Sprintf("%d characters, at most %d are taken", len(text), most)}
	}
	_, raw, err := multibase.Decode(text)
	if err != nil || len(raw) == 0 || raw[0] != envelopeHead {
		return nil, malformed("it is neither a JWT (eyJ…) nor a sealed token in multibase (u…, which is base64url)")
	}
	if _, err := fromMultibase(text); err != nil {
		return nil, &VerifyError{Err: ErrNotCanonical, Detail: "the multibase text has another spelling"}
	}
	return raw, nil
}
