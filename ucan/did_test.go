package ucan

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/multiformats/go-multibase"
	"pgregory.net/rapid"
)

// aliceDID is the principal that ts-ucan and the conformance suite call alice.
const aliceDID = "did:key:z6Mkk89bC3JrVqKie71YEcc5M1SMVxuCgNx6zLZ8SYJsxALi"

func encodeDID(t *testing.T, base multibase.Encoding, b []byte) string {
	t.Helper()
	s, err := multibase.Encode(base, b)
	if err != nil {
		t.Fatal(err)
	}
	return "did:key:" + s
}

func TestParseDID(t *testing.T) {
	d, err := ParseDID(aliceDID)
	if err != nil {
		t.Fatal(err)
	}
	if d.String() != aliceDID || d.IsZero() || len(d.PublicKey()) != ed25519.PublicKeySize {
		t.Errorf("ParseDID(alice) = %q, key of %d bytes", d, len(d.PublicKey()))
	}
	if again, _ := ParseDID(aliceDID); again != d {
		t.Error("two parses of one DID differ with ==")
	}

	ed := append([]byte{0xed, 0x01}, d.PublicKey()...)
	point := func(first, middle, last byte) string {
		b := append([]byte{0xed, 0x01, first}, bytes.Repeat([]byte{middle}, 30)...)
		return encodeDID(t, multibase.Base58BTC, append(b, last))
	}
	for name, c := range map[string]struct{ in, want string }{
		"empty":                    {"", "does not begin with did:"},
		"no DID":                   {"alice", "does not begin with did:"},
		"did:web":                  {"did:web:example.org", "only the did:key method"},
		"upper-case method":        {strings.Replace(aliceDID, "key", "KEY", 1), "only the did:key method"},
		"space before":             {" " + aliceDID, "does not begin"},
		"space after":              {aliceDID + " ", "longer"},
		"path":                     {aliceDID + "/g/Carol", "DID URL"},
		"fragment":                 {aliceDID + "#k", "DID URL"},
		"base64 of the same key":   {encodeDID(t, multibase.Base64, ed), "base58btc"},
		"base16 of the same key":   {encodeDID(t, multibase.Base16, ed), "base58btc"},
		"one digit more":           {aliceDID + "1", "longer"},
		"one digit less":           {aliceDID[:len(aliceDID)-1], "not an Ed25519 key"},
		"a zero digit before":      {"did:key:z1" + aliceDID[9:], "longer"},
		"not a base58 digit":       {aliceDID[:len(aliceDID)-1] + "0", "not base58btc"},
		"x25519":                   {encodeDID(t, multibase.Base58BTC, append([]byte{0xec, 0x01}, d.PublicKey()...)), "not an Ed25519 key"},
		"31 bytes":                 {encodeDID(t, multibase.Base58BTC, ed[:33]), "not an Ed25519 key"},
		"33 bytes":                 {encodeDID(t, multibase.Base58BTC, append(bytes.Clone(ed), 1)), "longer"},
		"identity point":           {point(1, 0, 0), "small order"},
		"identity point, sign bit": {point(1, 0, 0x80), "small order"},
		"order two":                {point(0xec, 0xff, 0x7f), "small order"},
		"y is the prime":           {point(0xed, 0xff, 0x7f), "not encoded canonically"},
		"y is the prime plus one":  {point(0xee, 0xff, 0xff), "not encoded canonically"},
		"a megabyte":               {"did:key:z" + strings.Repeat("2", 1<<20), "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDID(c.in)
			if !errors.Is(err, errDID) || !strings.Contains(err.Error(), c.want) || !got.IsZero() {
				t.Errorf("ParseDID = %v, %v; want errDID with %q", got, err, c.want)
			}
			if err != nil && len(err.Error()) > 400 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestDIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, err := KeyFromSeed(append(rapid.SliceOfN(rapid.Byte(), 31, 31).Draw(t, "seed"), 1))
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseDID(k.DID().String())
		if err != nil || d != k.DID() {
			t.Fatalf("ParseDID(%v) = %v, %v", k.DID(), d, err)
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back DID
		if err := json.Unmarshal(text, &back); err != nil || back != d {
			t.Fatalf("through JSON: %v, %v", back, err)
		}
		if !ed25519.Verify(d.PublicKey(), []byte("m"), k.Sign([]byte("m"))) {
			t.Fatal("the DID's key does not verify what the key signed")
		}
	})
}

func FuzzParseDID(f *testing.F) {
	f.Add(aliceDID)
	f.Add("did:key:z6Mk")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDID(s)
		if (err == nil) != (d.String() == s && s != "") {
			t.Errorf("ParseDID(%q) = %q, %v", s, d, err)
		}
	})
}
