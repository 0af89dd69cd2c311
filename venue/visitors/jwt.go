package visitors

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"usher/ucan"
)

// Times of JWTs.
const (
	maxLife = 60 * time.Second // between iat and exp
	skew    = 30 * time.Second // between the clocks
)

// Bounds of JWTs.
const (
	maxToken = 16 << 10 // bytes
	maxJTI   = 256      // bytes
)

// Types of JWTs, by their header typ.
const (
	hostType  = "host+jwt"
	agentType = "agent+jwt"
)

// claims are what a JWT says.
type claims struct {
	Issuer   string           `json:"iss"`
	Subject  string           `json:"sub"`
	Audience jwt.Audience     `json:"aud"`
	IssuedAt *jwt.NumericDate `json:"iat"`
	Expiry   *jwt.NumericDate `json:"exp"`
	Begins   *jwt.NumericDate `json:"nbf"`
	ID       string           `json:"jti"`

	HostKey      json.RawMessage `json:"host_public_key"`
	HostJWKS     string          `json:"host_jwks_url"`
	HostName     string          `json:"host_name"`
	AgentKey     json.RawMessage `json:"agent_public_key"`
	AgentJWKS    string          `json:"agent_jwks_url"`
	AgentKID     string          `json:"agent_kid"`
	Capabilities *[]string       `json:"capabilities"` // nil restricts nothing
	Method       string          `json:"htm"`
	URL          string          `json:"htu"`
	Body         string          `json:"ath"`
}

// token is a JWT that was read, and not yet verified.
type token struct {
	claims
	kid, typ string
	signed   *jwt.JSONWebToken
}

func badJWT(format string, args ...any) error { return refuse(invalidJWT, format, args...) }

// errUnverified is the one answer to who cannot sign: it does not say whether there is such a
// host or agent.
var errUnverified = badJWT("the JWT is not signed by a key that this venue knows under its iss or sub")

// readToken reads a JWT without believing it.
func readToken(text string) (*token, error) {
	if len(text) > maxToken {
		return nil, badJWT("the JWT has %d bytes, at most %d are read", len(text), maxToken)
	}
	signed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return nil, badJWT("the bearer token is no JWT whose alg is EdDSA")
	}
	t := &token{signed: signed, kid: signed.Headers[0].KeyID}
	t.typ, _ = signed.Headers[0].ExtraHeaders[jose.HeaderType].(string)
	if t.typ != hostType && t.typ != agentType {
		return nil, badJWT("typ of the JWT is neither %s nor %s", hostType, agentType)
	}
	if err := signed.UnsafeClaimsWithoutVerification(&t.claims); err != nil {
		return nil, badJWT("the claims of the JWT are not read")
	}
	return t, nil
}

// verify checks the signature.
func (t *token) verify(key ucan.DID) error {
	if key.IsZero() || t.signed.Claims(key.PublicKey()) != nil {
		return errUnverified
	}
	return nil
}

// Request is an HTTP request, as far as a JWT may be bound to it.
type Request struct {
	Token     string   // of Authorization: Bearer; empty is none
	Audiences []string // any of which may stand in aud
	Method    string
	URL       string // absolute, without a query
	Body      []byte
}

// IsVisitors reports whether a request brings a JWT for hosts or agents, by its typ.
func (r *Request) IsVisitors() bool {
	_, err := readToken(r.Token)
	return err == nil
}

// holds reports what is wrong with the times of a token, and with what it is bound to.
func (t *token) holds(now time.Time, req *Request) error {
	switch {
	case t.IssuedAt == nil || t.Expiry == nil:
		return badJWT("the JWT has no iat or no exp")
	case t.ID == "" || len(t.ID) > maxJTI:
		return badJWT("the JWT has no jti of 1 to %d bytes", maxJTI)
	case len(t.Audience) == 0 || !slices.ContainsFunc(t.Audience, func(aud string) bool { return slices.Contains(req.Audiences, aud) }):
		return badJWT("aud of the JWT is another: it is the issuer of this venue")
	}
	iat, exp := t.IssuedAt.Time(), t.Expiry.Time()
	switch {
	case !exp.After(iat) || exp.Sub(iat) > maxLife:
		return badJWT("the JWT lives longer than %s, or ends before it begins", maxLife)
	case now.After(exp.Add(skew)):
		return badJWT("the JWT has expired")
	case iat.After(now.Add(skew)) || t.Begins != nil && t.Begins.Time().After(now.Add(skew)):
		return badJWT("the JWT is of the future: look at your clock")
	}
	sum := sha256.Sum256(req.Body)
	if t.Method != "" && t.Method != req.Method || t.URL != "" && t.URL != req.URL || t.Body != "" && t.Body != b64.EncodeToString(sum[:]) {
		return refuse(bindingMismatch, "htm, htu or ath of the JWT are of another request")
	}
	return nil
}

// ends is until when a token could come again.
func (t *token) ends() time.Time { return t.Expiry.Time().Add(skew) }

// once lets a token through that was not seen before.
func (r *Room) once(ctx context.Context, key ucan.DID, t *token) error {
	fresh, err := r.Once(ctx, key, t.ID, t.ends())
	if err != nil {
		return err
	}
	if !fresh {
		return refuse(replayed, "the jti was seen before: sign a new JWT for each request")
	}
	return nil
}
