package ucan

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ucan-wg/go-ucan/token/delegation"

	"usher/caps"
)

// The fourteen faults that were found in go-ucan v1.1.0, which Usher is measured
// against, since it works with go-ucan (and which the folder oracle compares with),
// each with the proof that Usher does not have it.

func TestFault01SubjectConfusion(t *testing.T) {
	w := newWorld(t)
	m, a, h := w.mallory.DID(), w.alice.DID(), w.host.DID()
	// Mallory delegates everything of her own to herself and invokes it on alice.
	self := w.native(w.mallory, m, m, "*", "", nil)
	invoke := func(k Key, sub, aud DID, chain ...*Link) error {
		var prf []CID
		for _, l := range chain {
			prf = append(prf, l.CID)
		}
		i, err := k.Invoke(Call{Subject: sub, Audience: aud, Can: "crud/read", Proofs: prf, Expires: noon.Add(time.Minute)}, w.rand)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.v.Invoke(t.Context(), i, caps.Need("crud/read", w.url(w.alice, "w/x")), chain...)
		return err
	}
	w.v.Self = m // even where mallory is the executor
	wantErr(t, invoke(w.mallory, a, m, self), ErrNotCovered)
	w.v.Self = h
	wantErr(t, invoke(w.mallory, a, h, self), ErrNotCovered)
	wantErr(t, invoke(w.mallory, m, h, self), ErrNotCovered)
	// The legal form that go-ucan refuses: about alice, for the venue to do.
	good := w.native(w.alice, w.bob.DID(), a, "crud", w.url(w.alice, "w"), nil)
	wantErr(t, invoke(w.bob, a, h, good), nil)
	wantErr(t, invoke(w.bob, m, h, good), ErrSubject)
	wantErr(t, invoke(w.bob, a, w.dan.DID(), good), ErrAudience)
	wantErr(t, invoke(w.bob, a, DID{}, good), ErrAudience)
	wantErr(t, invoke(w.alice, a, h), nil)
	wantErr(t, invoke(w.alice, m, h), ErrSubject)
}

func TestFault02CIDMalleability(t *testing.T) {
	w := newWorld(t)
	raw := w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil)
	// Revoked under its one name, it has no other to come back under.
	for name, other := range reencodings(raw) {
		if l, err := Open(other); err == nil && l.CID != cidOf(codecDagCBOR, raw) {
			t.Errorf("%s: the token has a second CID, %s", name, l.CID)
		}
	}
}

func TestFault03StackOverflow(t *testing.T) {
	bomb := bytes.Repeat([]byte{0x81}, 4<<20)
	wide := Limits{TokenBytes: 8 << 20}
	if _, err := wide.open(append([]byte{0x82}, bomb...)); err == nil {
		t.Error("a bomb was read")
	}
	_, err := decodeCBOR(bomb)
	wantErr(t, err, ErrTooDeep)
	w := newWorld(t)
	nested := any("x")
	for range 33 {
		nested = []any{nested}
	}
	if _, err := w.alice.Invoke(Call{Subject: w.alice.DID(), Can: "crud", Args: map[string]any{"x": nested}, Expires: noon}, w.rand); !errors.Is(err, ErrTooDeep) {
		t.Errorf("a nested value was written: %v", err)
	}
	if _, err := wide.open([]byte("e" + string(bytes.Repeat([]byte("30"), 1<<20)))); err == nil {
		t.Error("a long text was read")
	}
}

func TestFault04VarsigPanic(t *testing.T) {
	w := newWorld(t)
	raw := w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", nil)
	at := bytes.Index(raw, varsig)
	for i := range varsig {
		for b := range 256 {
			other := bytes.Clone(raw)
			if other[at+i] == byte(b) {
				continue
			}
			other[at+i] = byte(b)
			if _, err := Open(other); !errors.Is(err, ErrAlgorithm) {
				t.Fatalf("header byte %d is %#x: %v", i, b, err)
			}
		}
	}
}

func TestFault05Powerline(t *testing.T) {
	w := newWorld(t)
	for _, sub := range []any{nil, nilValue{}} {
		_, err := Open(w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"sub": sub}))
		wantErr(t, err, ErrPowerline)
	}
}

func TestFault06StringPanics(t *testing.T) {
	w := newWorld(t)
	root := w.native(w.alice, w.alice.DID(), w.alice.DID(), "crud", "", nil)
	jwt := mustOpen(t, w.jwt(w.alice, w.alice.DID(), cap1("", "*")))
	for _, v := range []any{root, *rootless(), jwt, &Grant{}, Grant{}, CID{}, DID{}, &VerifyError{Err: ErrExpired}, Native} {
		if fmt.Sprintf("%v %+v %s", v, v, v) == "" {
			t.Errorf("%T prints nothing", v)
		}
	}
	if _, err := (Key{}).Invoke(Call{Subject: w.alice.DID(), Can: "crud", Expires: noon}, w.rand); err == nil {
		t.Error("a zero key signed")
	}
	if _, err := (&Issuer{Verifier: w.v, Rand: w.rand}).Delegate(t.Context(), Delegation{}); err == nil {
		t.Error("an empty delegation was issued")
	}
}

func rootless() *VerifyError {
	return &VerifyError{Err: ErrForeignRoot, Detail: "x", Cause: ErrExpired}
}

// Fault 7, a search that never ends on a cycle, is TestSearchBudget.

func TestFault08Globs(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{`\*`, `\`, false},
		{`\*`, `*`, true},
		{`w/*`, `w/*foo`, true},
		{`w/*`, `w/`, true},
		{`w/*`, `w`, false},
		{`*a*b`, `xxaxxb`, true},
		{`*a*b`, `xxaxxbc`, false},
		{``, ``, true},
		{`*`, ``, true},
		{`\**`, `*x`, true},
		{`a\*`, `ab`, false},
	} {
		if g, ok := parseGlob(c.pattern); !ok || g.match(c.text) != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.text, !c.want)
		}
	}
	for _, bad := range []string{`a\\b`, `a\`, `\a`} {
		if _, ok := parseGlob(bad); ok {
			t.Errorf("the pattern %q was taken", bad)
		}
	}
	// Neither character gets into a resource in the first place.
	for _, path := range []string{`w/*`, `w/a*b`, `w\x`} {
		if caps.Need("crud", path).Err() == nil {
			t.Errorf("the resource %q was taken", path)
		}
	}
}

func TestFault09Normalisation(t *testing.T) {
	w := newWorld(t)
	l := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w/reports"), nil)
	for _, path := range []string{"w/reports/../secret", "w/reports/./x", "w/reports//x", "w/reports/%2e%2e/secret", `w/reports\..\secret`} {
		_, err := w.ask(w.bob, "crud", path, nil, l)
		wantErr(t, err, ErrRequest)
	}
}

func TestFault10Clock(t *testing.T) {
	w := newWorld(t)
	early := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"nbf": noon.Unix() + 9})
	_, err := w.ask(w.bob, "crud", "w", nil, early)
	wantErr(t, err, ErrNotYetValid) // by its own name, and by a clock that tests turn
	w.now = noon.Add(time.Minute)
	_, err = w.ask(w.bob, "crud", "w", nil, early)
	wantErr(t, err, nil)
	i, err := w.alice.Invoke(Call{Subject: w.alice.DID(), Audience: w.host.DID(), Can: "crud", Issued: w.now.Add(time.Second), Expires: w.now.Add(time.Minute)}, w.rand)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.v.Invoke(t.Context(), i, caps.Need("crud", w.url(w.alice, "w")))
	wantErr(t, err, ErrNotYetValid) // issued in the future
}

func TestFault11SigningForAnother(t *testing.T) {
	w := newWorld(t)
	// There is no issuer to pass beside the key: a token always carries the DID of
	// the key that signs, and what is issued is opened again before it is returned.
	links, err := (&Issuer{Key: w.alice, Verifier: w.v, Rand: w.rand}).Delegate(t.Context(), Delegation{
		Audience: w.bob.DID(), Capabilities: []caps.Capability{caps.MustCapability("w", "crud")}, Expires: noon.Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	if links[0].Issuer != w.alice.DID() || !verifySignature(links[0]) {
		t.Error("the token is not its signer's")
	}
	// go-ucan seals alice's token with mallory's key; opening it is what tells.
	theirs, _, err := delegation.FromSealed(links[0].raw)
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err := theirs.ToSealed(signer{key: w.mallory})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(raw)
	wantErr(t, err, ErrSignature)
}

func TestFault12Nonce(t *testing.T) {
	w := newWorld(t)
	r, err := w.alice.Revocation(cidOf(codecRaw, nil), noon)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.alice.Revocation(cidOf(codecRaw, nil), noon)
	if err != nil || !bytes.Equal(r.raw, again.raw) {
		t.Errorf("a revocation is not deterministic: %v", err)
	}
	for _, n := range [][]byte{{}, make([]byte, 11)} {
		if _, err := w.alice.Invoke(Call{Subject: w.alice.DID(), Can: "crud", Expires: noon, Nonce: n}, w.rand); err == nil {
			t.Errorf("a nonce of %d bytes was signed", len(n))
		}
	}
}

// Fault 13 is go-ucan's container, which Usher does not read: tokens come one by
// one, each within its bound.
func TestFault13Containers(t *testing.T) {
	for _, raw := range [][]byte{
		[]byte("\xa1ectn-v1\x80"), []byte("Mo2ZjdG4tdjGA"), []byte("\x1f\x8b\x08"),
		[]byte("\x11\xa2eroots\x80gversion\x01"), // a CAR
	} {
		if _, err := Open(raw); err == nil {
			t.Errorf("a container was read: %.16q", raw)
		}
	}
	w := newWorld(t)
	c := w.jwt(w.alice, w.bob.DID(), cap1("w", "crud"))
	if _, err := (Limits{JWTBytes: len(c) - 1}).open([]byte(c)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the bound: %v", err)
	}
}

func TestFault14Interop(t *testing.T) {
	w := newWorld(t)
	a, b := w.alice.DID(), w.bob.DID()
	// Both tags are read (TestInteropDelegation has the fixtures), a caller needs
	// no proof for what is theirs, and proofs come in either order.
	l := w.native(w.alice, b, a, "crud", "", map[string]any{"tag": tagDelegation1})
	l2 := w.native(w.bob, w.carol.DID(), a, "crud", "", nil)
	for _, prf := range [][]CID{{l.CID, l2.CID}, {l2.CID, l.CID}} {
		i, err := w.carol.Invoke(Call{Subject: a, Audience: w.host.DID(), Can: "crud/read", Proofs: prf, Expires: noon.Add(time.Minute)}, w.rand)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.v.Invoke(t.Context(), i, caps.Need("crud/read", w.url(w.alice, "w")), l, l2)
		wantErr(t, err, nil)
	}
}
