package ucan

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/MetaMask/go-did-it"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ucan-wg/go-ucan/pkg/policy"
	"github.com/ucan-wg/go-ucan/token/delegation"

	"usher/caps"
)

// TestDifferencesAreRefused changes one part after the other of what the guard
// read: go-ucan, which read the token itself, has to disagree.
func TestDifferencesAreRefused(t *testing.T) {
	w := newWorld(t)
	other := w.mallory.DID()
	raw := w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), map[string]any{"nbf": int64(5)})
	for part, change := range map[string]func(*Link, *envelope){
		"":      func(*Link, *envelope) {},
		"iss":   func(l *Link, _ *envelope) { l.iss = other },
		"aud":   func(l *Link, _ *envelope) { l.aud = other },
		"sub":   func(l *Link, _ *envelope) { l.sub = other },
		"cmd":   func(l *Link, _ *envelope) { l.grants[0].can = "crud/read" },
		"pol":   func(_ *Link, e *envelope) { e.free = []byte{0x80} },
		"nonce": func(l *Link, _ *envelope) { l.nonce = make([]byte, minNonce) },
		"nbf":   func(l *Link, _ *envelope) { l.nbf = 0 },
		"exp":   func(l *Link, _ *envelope) { l.eternal = true },
		"exp ":  func(l *Link, _ *envelope) { l.exp++ },
		"CID":   func(l *Link, _ *envelope) { l.cid = cidOf(codecDagCBOR, nil) },
	} {
		l, env, err := Limits{}.decodeDelegation(raw)
		if err != nil {
			t.Fatal(err)
		}
		change(l, env)
		wantDifference(t, env.confirm(l.raw, l.cid, l.issKey, func(n datamodel.Node) error { return l.compare(n, env.free) }), part)
	}

	sealed, err := w.bob.Invoke(Call{
		Subject: w.alice.DID(), Audience: w.host.DID(), Can: "crud", Proofs: []CID{cidOf(codecRaw, nil)},
		Args: map[string]any{"n": 1}, Issued: noon, Expires: noon.Add(time.Minute),
	}, w.rand)
	if err != nil {
		t.Fatal(err)
	}
	for part, change := range map[string]func(*Invocation, *envelope){
		"":      func(*Invocation, *envelope) {},
		"iss":   func(i *Invocation, _ *envelope) { i.iss = other },
		"aud":   func(i *Invocation, _ *envelope) { i.aud = DID{} },
		"sub":   func(i *Invocation, _ *envelope) { i.sub = other },
		"cmd":   func(i *Invocation, _ *envelope) { i.can = "*" },
		"args":  func(_ *Invocation, e *envelope) { e.free = []byte{0xa0} },
		"prf":   func(i *Invocation, _ *envelope) { i.prf = nil },
		"nonce": func(i *Invocation, _ *envelope) { i.nonce = nil },
		"exp":   func(i *Invocation, _ *envelope) { i.exp++ },
		"iat":   func(i *Invocation, _ *envelope) { i.iat = 0 },
		"CID":   func(i *Invocation, _ *envelope) { i.cid = cidOf(codecRaw, i.raw) },
	} {
		i, env, issuer, err := Limits{}.decodeInvocation(sealed.raw)
		if err != nil {
			t.Fatal(err)
		}
		change(i, env)
		wantDifference(t, env.confirm(i.raw, i.cid, issuer, func(n datamodel.Node) error { return i.compare(n, env.free) }), part)
	}
}

func wantDifference(t *testing.T, err error, part string) {
	t.Helper()
	part = strings.TrimSpace(part)
	if part == "" {
		wantErr(t, err, nil)
		return
	}
	wantErr(t, err, ErrMalformed)
	if err == nil || !strings.Contains(err.Error(), "go-ucan reads another "+part+" ") {
		t.Errorf("error = %v; want a difference in %s", err, part)
	}
}

// TestConfirm shows what go-ucan is not trusted with even behind the reader.
func TestConfirm(t *testing.T) {
	w := newWorld(t)
	raw := w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", nil)
	l, env, err := Limits{}.decodeDelegation(raw)
	if err != nil {
		t.Fatal(err)
	}
	read := func(raw []byte) error {
		return env.confirm(raw, l.cid, l.issKey, func(n datamodel.Node) error { return l.compare(n, env.free) })
	}
	wantErr(t, read(raw), nil)
	// Should the reader ever take a second spelling, this does not.
	for name, other := range reencodings(raw) {
		if err := read(other); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := read(reencodings(raw)["envelope map swapped"]); !errors.Is(err, ErrNotCanonical) {
		t.Errorf("envelope map swapped: %v", err)
	}
	for _, c := range []struct {
		meta map[string]any
		want error
	}{
		{map[string]any{}, nil},
		{map[string]any{"a": []any{nil}}, nil},
		{map[string]any{"a": nil}, ErrMalformed}, // go-ucan does not read it
	} {
		_, err := Open(w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"meta": c.meta}))
		wantErr(t, err, c.want)
	}
	// A broken signature has its own name, under both tags.
	for _, tag := range []string{tagDelegation, tagDelegation1} {
		bad := w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"tag": tag})
		bad[20] ^= 1
		_, err := Open(bad)
		wantErr(t, err, ErrSignature)
	}
	// A panic of go-ucan (fault 4) is an error.
	at := bytes.Index(raw, varsig)
	header := bytes.Clone(raw)
	header[at+6] = 0x19
	if err := guarded(func() error { _, _, err := delegation.FromSealed(header); return err }); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("go-ucan's panic: %v", err)
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
			changes := map[string]any{"nonce": links[0].nonce, "exp": c.exp.Unix()}
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
		"cid": cidOf(codecRaw, nil), "list": []any{nil, []any{}}, "map": map[string]any{"bb": 1, "a": nil, "c": map[string]any{}},
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
		if again, err := w.bob.seal(tagInvocation, c.want); err != nil || !bytes.Equal(i.raw, again) {
			t.Errorf("go-ucan wrote\n%x, the encoder of the tests\n%x, %v", i.raw, again, err)
		}
	}
}

func TestInvokeRefuses(t *testing.T) {
	w := newWorld(t)
	for name, v := range map[string]any{
		"54 bits": int64(1) << 53, "not UTF-8": "\xff", "a key that is not": map[string]any{"\xff": 1}, "a channel": make(chan int),
		"null":         nil, // go-ucan would sign it and not read it again
		"not a number": func() float64 { zero := 0.0; return zero / zero }(), "no CID": link("x"), "zero CID": CID{},
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

// TestConditions shows a policy matched by both: nothing passes by one alone.
func TestConditions(t *testing.T) {
	for _, c := range []struct {
		name         string
		item         []any
		arg          any
		theirs, ours bool
	}{
		{"both", []any{"==", ".a", int64(1)}, int64(1), true, true},
		{"neither", []any{"==", ".a", int64(1)}, int64(2), false, false},
		{"null", []any{"==", ".a", nil}, nil, true, true},
		{"a link", []any{"==", ".a", cidOf(codecRaw, nil)}, link(cidOf(codecRaw, nil).Bytes()), true, true},
		{"maps", []any{"!=", ".a", map[string]any{"bb": int64(1), "c": int64(2)}}, map[string]any{"c": int64(2), "bb": int64(1)}, false, false},
		{"an integer is a float", []any{"==", ".a", int64(1)}, 1.0, false, true},
		{"but not to pass", []any{"!=", ".a", int64(1)}, 1.0, true, false},
		{"nor here", []any{"not", []any{">", ".a", int64(1000)}}, 2000.0, true, false},
		{"a map is no list", []any{"not", []any{"any", ".a", []any{"==", ".", "x"}}}, map[string]any{"k": "x"}, true, false},
		{"after a map's values", []any{"any", ".a[][0]", []any{"==", ".", "x"}}, map[string]any{"k": []any{"y"}, "l": "x"}, true, false},
		{"an escaped star", []any{"like", ".a", `w/\*`}, `w/\`, true, false},
		{"a star in the text", []any{"like", ".a", "w/*"}, "w/*foo", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w cborWriter
			if err := w.value([]any{c.item}, maxNesting); err != nil {
				t.Fatal(err)
			}
			_, beyond, err := readPolicy(w.b, DID{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := newConditions(beyond, w.b)
			if err != nil {
				t.Fatal(err)
			}
			args := map[string]any{"a": c.arg}
			if ok, detail := got.hold(args); ok != (c.theirs && c.ours) || detail != "" {
				t.Errorf("holds: %v, %s", ok, detail)
			}
			n, err := nodeOf(args, maxNesting)
			if err != nil {
				t.Fatal(err)
			}
			if ok, _ := got.theirs.Match(n); ok != c.theirs {
				t.Errorf("go-ucan: %v", ok)
			}
			if ok := beyond[0].match(args) == isTrue; ok != c.ours {
				t.Errorf("here: %v", ok)
			}
		})
	}
	broken := conditions{theirs: policy.Policy{nil}}
	if ok, detail := broken.hold(nil); ok || !strings.Contains(detail, "panicked") {
		t.Errorf("a panic: %v, %s", ok, detail)
	}
	if ok, detail := (&conditions{}).hold(map[string]any{"a": []string{"x"}}); ok || detail == "" {
		t.Errorf("an argument of another type: %v, %s", ok, detail)
	}
	if _, err := newConditions(nil, []byte{0x81, 0x01}); !errors.Is(err, ErrMalformed) {
		t.Errorf("a policy that go-ucan does not read: %v", err)
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
