package client

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"time"
)

// tokenLife is how long a token counts: the longest that servers take.
const tokenLife = 60 * time.Second

var b64 = base64.RawURLEncoding

// JWK is an Ed25519 public key as the wire has it (RFC 8037).
type JWK struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Kid string `json:"kid,omitempty"`
}

// PublicJWK is a key as the wire has it.
func PublicJWK(key ed25519.PublicKey) JWK {
	return JWK{Kty: "OKP", Crv: "Ed25519", X: b64.EncodeToString(key), Kid: Thumbprint(key)}
}

// Thumbprint names a key (RFC 7638, with SHA-256).
func Thumbprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + b64.EncodeToString(key) + `"}`))
	return b64.EncodeToString(sum[:])
}

// claims are those of a token.
type claims map[string]any

// sign makes a token of a type (RFC 7515, compact) for one server: iat, exp and a jti of
// its own beside the claims.
func (s *Server) sign(typ, aud string, key ed25519.PrivateKey, c claims) (string, error) {
	var id [16]byte
	if _, err := io.ReadFull(s.opts.Rand, id[:]); err != nil {
		return "", fmt.Errorf("make the id of a token: %w", err)
	}
	now := s.opts.Now()
	all := claims{"aud": aud, "iat": now.Unix(), "exp": now.Add(tokenLife).Unix(), "jti": hex.EncodeToString(id[:])}
	maps.Copy(all, c)
	head, err := json.Marshal(map[string]string{"alg": "EdDSA", "typ": typ, "kid": Thumbprint(Public(key))})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("encode the claims of a token: %w", err)
	}
	text := b64.EncodeToString(head) + "." + b64.EncodeToString(body)
	return text + "." + b64.EncodeToString(ed25519.Sign(key, []byte(text))), nil
}

// Public is the public half of a key.
func Public(key ed25519.PrivateKey) ed25519.PublicKey {
	return ed25519.PublicKey(key[len(key)-ed25519.PublicKeySize:])
}

// Token is a host JWT for the server, with claims beside its own.
func (h *Host) Token(more map[string]any) (string, error) {
	id := Thumbprint(Public(h.key))
	all := claims{"iss": id, "sub": id, "host_public_key": PublicJWK(Public(h.key))}
	maps.Copy(all, more)
	return h.sign("host+jwt", h.Issuer, h.key, all)
}

// Token is an agent JWT for an audience, the issuer where that is empty. With capabilities
// it counts for those alone.
func (a *Agent) Token(aud string, capabilities ...string) (string, error) {
	if aud == "" {
		aud = a.host.Issuer
	}
	c := claims{"iss": Thumbprint(Public(a.host.key)), "sub": a.ID}
	if len(capabilities) > 0 {
		c["capabilities"] = capabilities
	}
	return a.host.sign("agent+jwt", aud, a.key, c)
}
