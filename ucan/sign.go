package ucan

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// jwtClaims are COG-13's, in its order.
type jwtClaims struct {
	Iss DID              `json:"iss"`
	Aud DID              `json:"aud"`
	Exp *int64           `json:"exp"`
	Nbf int64            `json:"nbf,omitzero"`
	Nnc string           `json:"nnc"`
	Fct []map[string]any `json:"fct,omitempty"`
	Att []attenuation    `json:"att"`
	Prf []string         `json:"prf"`
}

type attenuation struct {
	With string `json:"with"`
	Can  string `json:"can"`
}

// jwtHeader names the issuer's key and the version of UCAN, which other libraries
// ask for.
func jwtHeader(iss DID) string {
	return `{"alg":"EdDSA","typ":"JWT","kid":"` + iss.Multikey() + `","ucv":"0.10.0"}`
}

func (is *Issuer) signJWT(d *Delegation, held []holding) (*Link, error) {
	nonce, err := nonceOr(nil, is.Rand)
	if err != nil {
		return nil, err
	}
	claims := jwtClaims{
		Iss: is.Key.DID(), Aud: d.Audience,
		Nnc: base64.RawURLEncoding.EncodeToString(nonce),
		Att: []attenuation{}, Prf: []string{},
	}
	if !d.Expires.IsZero() {
		exp := d.Expires.Unix()
		claims.Exp = &exp
	}
	if !d.NotBefore.IsZero() {
		claims.Nbf = d.NotBefore.Unix()
	}
	if len(d.Agents) > 0 {
		claims.Fct = []map[string]any{{agentsKey: d.Agents}}
	}
	var proofs []*Link
	for i := range held {
		h := &held[i]
		with := absolute(h.owner, h.path)
		if _, _, err := splitAbsolute(with); err != nil {
			// A URI cannot stand below a DID. Bare, it means the root issuer's,
			// which says the same where that is the owner.
			if with = h.shown.With(); is.Key.DID() == is.Verifier.Self && h.proof == nil {
				return nil, fmt.Errorf("%s: a venue cannot name its owner: %w", h.shown, err)
			}
		}
		claims.Att = append(claims.Att, attenuation{with, string(h.can)})
		if h.proof != nil && !slices.Contains(proofs, h.proof) {
			proofs = append(proofs, h.proof)
			text := h.proof.CID.String()
			if d.Inline && h.proof.Format == JWT {
				text = string(h.proof.raw)
			}
			claims.Prf = append(claims.Prf, text)
		}
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return nil, fmt.Errorf("write claims: %w", err)
	}
	signed := b64.AppendEncode(nil, []byte(jwtHeader(claims.Iss)))
	signed = b64.AppendEncode(append(signed, '.'), body)
	sig := is.Key.Sign(signed)
	if sig == nil {
		return nil, errors.New("the key is zero or erased")
	}
	// What was made is read again by the rules that everybody else's must pass.
	l, err := is.Verifier.Limits.open(b64.AppendEncode(append(slices.Clip(signed), '.'), sig))
	if err != nil {
		return nil, err
	}
	_, err = l.resolve(func(c CID) (*Link, error) {
		for _, p := range proofs {
			if p.CID == c {
				return p, nil
			}
		}
		return nil, &VerifyError{Err: ErrMissingProof, CID: c}
	})
	return l, err
}
