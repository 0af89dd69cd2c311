package ucan

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/MetaMask/go-did-it"
	"github.com/ipfs/go-cid"

	"usher/caps"
)

// TestConfirm: what has two spellings, a null entry or another signature is no
// token, under either tag.
func TestConfirm(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		meta map[string]any
		want error
	}{
		{map[string]any{}, nil},
		{map[string]any{"a": []any{nil}}, nil},
		{map[string]any{"a": nil}, ErrMalformed}, // others do not read it
	} {
		_, err := Open(w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"meta": c.meta}))
		wantErr(t, err, c.want)
	}
	for _, tag := range []string{tagDelegation, tagDelegation1} {
		bad := w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"tag": tag})
		bad[20] ^= 1
		_, err := Open(bad)
		wantErr(t, err, ErrSignature)
	}
	if _, err := guard(func() ([]byte, cid.Cid, error) { panic("theirs") }); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("a panic of go-ucan: %v", err)
	}
}

// TestOneMethod: no other kind of DID resolves, of which some call a server.
func TestOneMethod(t *testing.T) {
	for _, s := range []string{"did:web:example.org", "did:plc:ewvi7nxzyoun6zhxrhs64oiz"} {
		if d, err := did.Parse(s); err == nil {
			t.Errorf("%s is read as %v", s, d)
		}
	}
}

// TestSealedAlike writes the same tokens with the tests' own encoder.
func TestSealedAlike(t *testing.T) {
	w := newWorld(t)
	w.v.Roots = func(_, issuer DID) bool { return issuer == w.host.DID() }
	for _, c := range []struct {
		name     string
		with     string
		exp, nbf time.Time // past, near and far by the system's clock
	}{
		{"resource", "w/x", noon.Add(time.Hour), time.Time{}},
		{"namespace", "", noon.Add(time.Hour), noon},
		{"long ago", "w", time.Date(1999, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(1999, 1, 1, 0, 0, 0, 7, time.UTC)},
		{"now", "w", time.Now().Add(3 * time.Second), time.Now()},
		{"far ahead", "w", time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2998, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"never", "w", time.Time{}, time.Time{}},
	} {
		for _, k := range []Key{w.alice, w.host} {
			w.now = c.nbf
			w.v.Limits.Life = -1
			links, err := (&Issuer{Key: k, Verifier: w.v, Rand: w.rand}).Delegate(t.Context(), Delegation{
				Audience: w.bob.DID(), Capabilities: []caps.Capability{caps.MustCapability(c.with, "crud")},
				Owner: w.alice.DID(), Expires: c.exp, NotBefore: c.nbf,
			})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			changes := map[string]any{"nonce": payloadOf(t, links[0].raw)["nonce"], "exp": c.exp.Unix()}
			if c.exp.IsZero() {
				changes["exp"] = nilValue{}
			}
			if !c.nbf.IsZero() {
				changes["nbf"] = c.nbf.Unix()
			}
			path, err := caps.ParseResource(c.with)
			if err != nil {
				t.Fatal(err)
			}
			changes["pol"] = policyOf(w.alice.DID(), path, k.DID())
			if again := w.nativeRaw(k, w.bob.DID(), k.DID(), "crud", "", changes); !bytes.Equal(links[0].raw, again) {
				t.Errorf("%s: go-ucan wrote\n%x, the encoder of the tests\n%x", c.name, links[0].raw, again)
			}
		}
	}

	args := map[string]any{
		"yes": true, "no": false, "text": "x", "": "y", "bytes": []byte{1}, "n": int64(-5), "small": 3, "f": 1.0,
		"cid": cidOf(codecRaw, nil), "list": []any{true, []any{}}, "map": map[string]any{"bb": 1, "a": false, "c": map[string]any{}},
	}
	target := cidOf(codecDagCBOR, []byte("x"))
	for _, c := range []struct {
		call Call
		want map[string]any
	}{
		{Call{Args: args, Proofs: []CID{target}, Audience: w.host.DID(), Issued: noon}, map[string]any{"args": args, "prf": []any{target}, "aud": w.host.DID().s, "iat": noon.Unix()}},
		{Call{}, map[string]any{"args": map[string]any{}, "prf": []any{}}},
		{Call{Audience: w.alice.DID()}, map[string]any{"args": map[string]any{}, "prf": []any{}}},
	} {
		c.call.Subject, c.call.Can, c.call.Expires = w.alice.DID(), "crud/read", noon.Add(time.Minute+999*time.Millisecond)
		i, err := w.bob.Invoke(c.call, w.rand)
		if err != nil {
			t.Fatal(err)
		}
		c.want["iss"], c.want["sub"], c.want["cmd"] = w.bob.DID().s, w.alice.DID().s, "/crud/read"
		c.want["nonce"], c.want["exp"] = i.nonce, noon.Add(time.Minute).Unix()
		if again, err := w.bob.seal(tagInvocation, c.want); err != nil || !bytes.Equal(i.Raw, again) {
			t.Errorf("go-ucan wrote\n%x, the encoder of the tests\n%x, %v", i.Raw, again, err)
		}
	}
}

func TestInvokeRefuses(t *testing.T) {
	w := newWorld(t)
	for name, v := range map[string]any{
		"54 bits": int64(1) << 53, "not UTF-8": "\xff", "a key that is not": map[string]any{"\xff": 1}, "a channel": make(chan int),
		"null":         nil, // go-ucan would sign it and not read it again
		"not a number": func() float64 { zero := 0.0; return zero / zero }(), "zero CID": CID{},
	} {
		if _, err := w.bob.Invoke(Call{Subject: w.alice.DID(), Can: "crud", Args: map[string]any{"x": v}, Expires: noon}, w.rand); err == nil {
			t.Errorf("%s was signed", name)
		}
	}
	sealed, err := w.bob.seal(tagInvocation, map[string]any{
		"iss": w.bob.DID().s, "sub": w.alice.DID().s, "cmd": "/crud", "args": map[string]any{"x": nil},
		"prf": []any{}, "nonce": make([]byte, minNonce), "exp": noon.Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenInvocation(sealed)
	wantErr(t, err, ErrMalformed)
	gone := testKey(t, "gone")
	gone.Zero()
	if _, err := gone.Invoke(Call{Subject: w.alice.DID(), Can: "crud", Expires: noon}, w.rand); err == nil {
		t.Error("an erased key signed")
	}
}

// TestSignerHoldsNoSecret: what go-ucan gets hold of can be asked for signatures.
func TestSignerHoldsNoSecret(t *testing.T) {
	s := signer{key: testKey(t, "k")}
	if len(s.ToBytes()) != 0 {
		t.Error("the signer gives its key away")
	}
	if !bytes.Equal(s.Varsig().Encode()[:6], varsig[:6]) {
		t.Errorf("its header is %x", s.Varsig().Encode())
	}
	s.key.Zero()
	if sig, err := s.SignToBytes([]byte("x")); err == nil {
		t.Errorf("an erased key signed: %x", sig)
	}
}

// TestConditionsFromDisk: a token that was stored says no less when it is read.
func TestConditionsFromDisk(t *testing.T) {
	w := newWorld(t)
	on := w.url(w.alice, "w/x")
	w.put(w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"pol": []any{[]any{"==", ".with", on}}}))
	w.open()
	_, err := w.ask(w.bob, "crud", "w/x", nil)
	wantErr(t, err, nil)
	_, err = w.ask(w.bob, "crud", "w/x/y", nil)
	wantErr(t, err, ErrPolicy)
}
