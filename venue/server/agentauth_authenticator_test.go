package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// authenticator has one passkey, as a browser asks for it (WebAuthn, 6.1).
type authenticator struct {
	testing.TB
	id      []byte
	key     *ecdsa.PrivateKey
	counter uint32

	origin, party string
	unverified    bool // it verifies nobody
}

func newAuthenticator(t testing.TB) *authenticator {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 32)
	_, _ = rand.Read(id)
	return &authenticator{TB: t, id: id, key: key, origin: "https://venue.example.org", party: "venue.example.org"}
}

var b64 = base64.RawURLEncoding

// Flags of what an authenticator says.
const (
	userPresent  = 1
	userVerified = 4
	hasKey       = 64
)

func (a *authenticator) data(more byte) []byte {
	sum := sha256.Sum256([]byte(a.party))
	flags := userPresent | userVerified | more
	if a.unverified {
		flags &^= userVerified
	}
	a.counter++
	return binary.BigEndian.AppendUint32(append(sum[:], flags), a.counter)
}

func (a *authenticator) client(kind, asked string) []byte {
	var o struct {
		Challenge string `json:"challenge"`
	}
	if err := json.Unmarshal([]byte(asked), &o); err != nil {
		a.Fatalf("asked for %q: %v", asked, err)
	}
	raw, _ := json.Marshal(object{"type": "webauthn." + kind, "challenge": o.Challenge, "origin": a.origin, "crossOrigin": false})
	return raw
}

func (a *authenticator) answer(response object) string {
	for name, v := range response {
		response[name] = b64.EncodeToString(v.([]byte))
	}
	raw, _ := json.Marshal(object{"id": b64.EncodeToString(a.id), "rawId": b64.EncodeToString(a.id), "type": "public-key", "response": response})
	return string(raw)
}

// create makes the passkey.
func (a *authenticator) create(asked string) string {
	public, err := a.key.PublicKey.Bytes()
	if err != nil {
		a.Fatal(err)
	}
	encode := func(v any) []byte {
		raw, err := cbor.Marshal(v)
		if err != nil {
			a.Fatal(err)
		}
		return raw
	}
	data := append(a.data(hasKey), make([]byte, 16)...)
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(a.id))), a.id...)
	data = append(data, encode(map[int]any{1: 2, 3: -7, -1: 1, -2: public[1:33], -3: public[33:]})...)
	attestation := encode(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})
	return a.answer(object{"clientDataJSON": a.client("create", asked), "attestationObject": attestation})
}

// get signs what is asked.
func (a *authenticator) get(asked string) string {
	client, data := a.client("get", asked), a.data(0)
	sum := sha256.Sum256(client)
	digest := sha256.Sum256(append(slices.Clone(data), sum[:]...))
	signed, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		a.Fatal(err)
	}
	return a.answer(object{"clientDataJSON": client, "authenticatorData": data, "signature": signed})
}

// asked is what a page asks the browser for, "" for nothing.
func asked(page, kind string) string {
	_, rest, found := strings.Cut(page, "data-"+kind+`="`)
	if !found {
		return ""
	}
	text, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(text)
}
