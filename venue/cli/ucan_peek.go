package cli

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"usher/caps"
	"usher/ucan"
)

// peek reads what a refused JWT says, so that the refusal can be shown in its
// place: [ucan.Open] gives no token whose signature or whose chain is wrong.
// Nothing of it is believed. It also returns the tokens inside; ok is false for
// what is no token at all.
func peek(t token) (n *node, inside []token, ok bool) {
	var refused *ucan.VerifyError
	if !errors.As(t.err, &refused) || len(t.raw) == 0 || t.raw[0] == sealedHead {
		return nil, nil, false
	}
	parts := bytes.Split(t.raw, []byte("."))
	if len(parts) != 3 {
		return nil, nil, false
	}
	payload, err := base64.RawURLEncoding.AppendDecode(nil, parts[1])
	sig, err2 := base64.RawURLEncoding.AppendDecode(nil, parts[2])
	var claims struct {
		Iss, Aud ucan.DID
		Exp, Nbf *int64
		Att      []caps.Capability
		Prf      []string
	}
	if err != nil || err2 != nil || json.Unmarshal(payload, &claims) != nil || claims.Iss.IsZero() || claims.Aud.IsZero() || claims.Att == nil {
		return nil, nil, false
	}
	cid, err := jwtCID(t.raw)
	if err != nil {
		return nil, nil, false
	}
	n = &node{
		cid: cid, source: t.source, format: ucan.JWT, issuer: claims.Iss, audience: claims.Aud, eternal: claims.Exp == nil,
		signed: ed25519.Verify(claims.Iss.PublicKey(), t.raw[:len(parts[0])+1+len(parts[1])], sig),
	}
	if claims.Exp != nil {
		n.ends = time.Unix(*claims.Exp, 0).UTC()
	}
	if claims.Nbf != nil {
		n.notBefore = time.Unix(*claims.Nbf, 0).UTC()
	}
	for _, c := range claims.Att {
		n.held = append(n.held, claim{Capability: c})
	}
	for _, p := range claims.Prf {
		c, err := ucan.ParseCID(p)
		if strings.Contains(p, ".") {
			inside = append(inside, openToken("inside "+t.source, []byte(p)))
			c, err = jwtCID([]byte(p))
		}
		if err != nil {
			return nil, nil, false
		}
		n.proofs = append(n.proofs, c)
	}
	if refused.CID == cid && !drawn(refused) {
		n.warn("refused: %s", &ucan.VerifyError{Err: refused.Err, Detail: refused.Detail, Cause: refused.Cause})
	}
	return n, inside, true
}

// drawn reports whether the forest shows the reason itself.
func drawn(e *ucan.VerifyError) bool {
	for _, shown := range []error{ucan.ErrSignature, ucan.ErrWidenedResource, ucan.ErrWidenedAbility, ucan.ErrBrokenChain, ucan.ErrTimeBounds, ucan.ErrBareResource} {
		if errors.Is(e.Err, shown) {
			return true
		}
	}
	return false
}

// jwtCID names a JWT by its text: CIDv1, raw, SHA2-256.
func jwtCID(raw []byte) (ucan.CID, error) {
	sum := sha256.Sum256(raw)
	b := append([]byte{1, 0x55, 0x12, 0x20}, sum[:]...)
	return ucan.ParseCID("b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b)))
}
