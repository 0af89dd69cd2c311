package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"usher/ucan"
)

var b64 = base64.RawURLEncoding

// eddsa is the one algorithm of keys that are DIDs (COG-10).
var eddsa = []jose.SignatureAlgorithm{jose.EdDSA}

// open reads a JWT whose signature is by the key of the DID that choose returns, and
// whose claims hold now.
func (r *Room) open(token string, choose func(*jwt.Claims) (ucan.DID, error)) (*jwt.Claims, ucan.DID, error) {
	parsed, err := jwt.ParseSigned(token, eddsa)
	if err != nil {
		return nil, ucan.DID{}, &Refusal{"it is not read: its alg must be EdDSA", cause(err)}
	}
	var c jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&c); err != nil {
		return nil, ucan.DID{}, &Refusal{"its claims are not read", err}
	}
	signer, err := choose(&c)
	if err != nil {
		return nil, ucan.DID{}, err
	}
	if kid := parsed.Headers[0].KeyID; kid != "" && !signer.IsKeyID(kid) {
		return nil, ucan.DID{}, refuse("its kid is not the key of %s: give its DID, the DID URL of its key, or the bare multikey", signer)
	}
	if err := parsed.Claims(signer.PublicKey(), &c); err != nil {
		return nil, ucan.DID{}, refuse("its signature is not by %s", signer)
	}
	return &c, signer, r.holds(&c)
}

// cause leaves out what a library says of a token's bytes.
func cause(err error) error {
	if other, ok := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); ok {
		return other
	}
	return nil
}

// holds reports what is wrong with the times and the audience of a token.
func (r *Room) holds(c *jwt.Claims) error {
	now, venue := r.Now(), r.Keys.Venue().DID().String()
	switch {
	case len(c.Audience) == 0:
		return refuse("its aud is missing: it must be this venue, %s", venue)
	case !slices.Contains(c.Audience, venue):
		return refuse("its aud is another: it must be this venue, %s", venue)
	case c.Expiry == nil:
		return refuse("its exp is missing: it is the time in seconds up to which the token holds")
	case c.IssuedAt == nil:
		return refuse("its iat is missing: it is the time in seconds at which the token was made")
	case c.IssuedAt.Time().After(now.Add(skew)):
		return refuse("it was made at %s, and here it is %s: set the clock", stamp(c.IssuedAt), now.UTC().Format(time.RFC3339))
	case c.NotBefore != nil && c.NotBefore.Time().After(now.Add(skew)):
		return refuse("it begins at %s", stamp(c.NotBefore))
	}
	return r.checkTimes(c)
}

func (r *Room) checkTimes(c *jwt.Claims) error {
	if now := r.Now(); now.Truncate(time.Second).After(c.Expiry.Time()) {
		return refuse("it expired at %s: sign or fetch a new one", stamp(c.Expiry))
	}
	return nil
}

func stamp(t *jwt.NumericDate) string { return t.Time().UTC().Format(time.RFC3339) }

// ownJWT reads COG-10's JWT of a caller's own key.
func (r *Room) ownJWT(token string) (*Identity, error) {
	c, did, err := r.open(token, func(c *jwt.Claims) (ucan.DID, error) {
		did, err := ucan.ParseDID(c.Subject)
		if err != nil {
			return did, refuse("its sub is no did:key: it is who signs the token")
		}
		if c.Issuer != "" && c.Issuer != c.Subject {
			return did, refuse("its iss is not its sub: who issues a token for themselves is both, or leaves iss out")
		}
		if did == r.Keys.Venue().DID() {
			return did, refuse("its sub is this venue, which calls nothing")
		}
		return did, nil
	})
	if err != nil {
		return nil, err
	}
	if life := c.Expiry.Time().Sub(c.IssuedAt.Time()); life > r.Auth.MaxLife {
		return nil, refuse("it lives for %s, and at most %s are taken: sign one for a shorter time", life, r.Auth.MaxLife)
	}
	var once func(context.Context) error
	if c.ID != "" {
		once = r.once(did, c.ID, c.Expiry.Time(), "it was used before, and its jti says that it works once: sign a new one, or leave jti out")
	}
	valid := func(context.Context) error { return r.checkTimes(c) }
	return r.admit(&Identity{Authority: r.principal(did), Kind: selfIssued, Expires: c.Expiry.Time(), Valid: valid, once: once})
}
