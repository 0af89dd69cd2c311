package ucan

import (
	"bytes"
	"encoding/base64"
	"testing"

	"pgregory.net/rapid"
)

// FuzzOpenNative: no input panics, and what is read has one spelling, which is
// the input.
func FuzzOpenNative(f *testing.F) {
	w := newWorld(f)
	a := w.alice.DID()
	f.Add(w.nativeRaw(w.alice, w.bob.DID(), a, "crud", w.url(w.alice, "w"), nil))
	f.Add(w.nativeRaw(w.alice, w.bob.DID(), a, "*", "", map[string]any{
		"meta": map[string]any{"a": []any{int64(1), -1.5, nil, true, []byte{1}, cidOf(codecRaw, nil)}},
		"pol":  []any{[]any{"not", []any{"any", ".a[]", []any{"like", ".", "x*"}}}},
	}))
	i, err := w.bob.Invoke(Call{Subject: a, Can: "crud", Expires: noon, Proofs: []CID{cidOf(codecDagCBOR, nil)}}, w.rand)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(i.Raw)
	f.Fuzz(checkNative)
}

// checkNative also reads what is inside of tokens with a broken signature: the
// decoder, not the signature, has to hold.
func checkNative(t *testing.T, raw []byte) {
	if l, err := (Limits{}).decode(raw); err == nil && l.Format == Native {
		if !bytes.Equal(l.raw, raw) || l.CID != cidOf(codecDagCBOR, raw) {
			t.Errorf("%x was read as something else", raw)
		}
		if again := rewrite(t, raw); !bytes.Equal(again, raw) {
			t.Errorf("%x is not canonical: %x", raw, again)
		}
		for _, holds := range l.policy {
			holds(map[string]any{"with": "x", "a": []any{"x", int64(1)}})
		}
	}
	if i, err := OpenInvocation(raw); err == nil {
		if again := rewrite(t, i.Raw); !bytes.Equal(again, raw) {
			t.Errorf("%x is not canonical: %x", raw, again)
		}
	}
}

// rewrite decodes CBOR into values and writes these: the slow, obvious proof that
// a token is canonical.
func rewrite(t *testing.T, raw []byte) []byte {
	t.Helper()
	v, err := decodeCBOR(raw)
	if err != nil {
		t.Fatalf("%x: %v", raw, err)
	}
	var w cborWriter
	if err := w.value(v, 2*maxNesting); err != nil {
		t.Fatalf("%x: %v", raw, err)
	}
	return w.b
}

// FuzzOpenJWT: no input panics, and what is read has one spelling.
func FuzzOpenJWT(f *testing.F) {
	w := newWorld(f)
	b := w.bob.DID()
	root := w.jwt(w.alice, b, cap1("w/", "crud"))
	f.Add([]byte(root))
	f.Add([]byte(w.jwt(w.bob, w.carol.DID(), cap1("w/x", "crud/read"), root)))
	f.Add([]byte(w.jwt(w.bob, w.carol.DID(), cap1("", "*"), mustOpen(f, root).CID.String())))
	f.Add([]byte(signJWT(f, w.alice, `{"alg":"EdDSA","typ":"JWT","kid":"x","ucv":"0.10.0"}`, map[string]any{"cap": map[string]any{"w": map[string]any{"crud": []any{att{}}}}})))
	f.Fuzz(checkJWT)
}

func checkJWT(t *testing.T, raw []byte) {
	l, err := (Limits{}).decode(raw)
	if err != nil || l.Format != JWT {
		return
	}
	if !bytes.Equal(l.raw, raw) || l.CID != cidOf(codecRaw, raw) {
		t.Errorf("%q was read as something else", raw)
	}
	for _, part := range bytes.Split(raw, []byte{'.'}) {
		b, err := base64.RawURLEncoding.DecodeString(string(part))
		if err != nil || base64.RawURLEncoding.EncodeToString(b) != string(part) {
			t.Errorf("%q is not canonical", part)
		}
	}
}

// FuzzPolicy: statements and selectors that are read can be matched.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte{0x81, 0x83, 0x62, '=', '=', 0x61, '.', 0x01})
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := decodeCBOR(raw)
		if err != nil {
			return
		}
		s, err := parseStatement(v, maxNesting)
		if err != nil {
			return
		}
		s(map[string]any{"a": []any{int64(1), "x"}, "b": map[string]any{"c": 1.5}})
	})
}

// TestMutations puts many damaged tokens through both decoders.
func TestMutations(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds = 10_000
	}
	w := newWorld(t)
	a, b := w.alice.DID(), w.bob.DID()
	native := w.nativeRaw(w.alice, b, a, "crud/read", w.url(w.alice, "w/x"), map[string]any{"nbf": int64(1), "meta": map[string]any{"k": []any{int64(-5), 2.5}}})
	jwt := []byte(w.jwt(w.bob, w.carol.DID(), cap1("w/x", "crud/read"), w.jwt(w.alice, b, cap1("w/", "crud"))))
	rng := uint64(0x9e3779b97f4a7c15)
	next := func(n int) int {
		rng ^= rng << 13
		rng ^= rng >> 7
		rng ^= rng << 17
		return int(rng % uint64(n))
	}
	cborBits := []byte{0x00, 0x17, 0x18, 0x19, 0x1b, 0x20, 0x38, 0x40, 0x58, 0x5f, 0x60, 0x78, 0x7f, 0x80, 0x81, 0x98, 0x9f, 0xa0, 0xb8, 0xbf, 0xd8, 0xf6, 0xf9, 0xfb, 0xff}
	mutate := func(src []byte) []byte {
		m := bytes.Clone(src)
		for range 1 + next(3) {
			if len(m) == 0 {
				break
			}
			at := next(len(m))
			switch next(6) {
			case 0:
				m[at] ^= 1 << next(8)
			case 1:
				m[at] = byte(next(256))
			case 2:
				m[at] = cborBits[next(len(cborBits))]
			case 3:
				m = append(m[:at], m[at+1:]...)
			case 4:
				m = append(m[:at], append([]byte{cborBits[next(len(cborBits))]}, m[at:]...)...)
			case 5:
				m = m[:at]
			}
		}
		return m
	}
	accepted := 0
	for i := range rounds {
		src := native
		if i%2 == 1 {
			src = jwt
		}
		m := mutate(src)
		if bytes.Equal(m, src) {
			continue
		}
		if l, err := Open(m); err == nil {
			t.Errorf("accepted %x as %v", m, l)
			accepted++
		}
		if i%16 == 0 { // what the signature would hide
			checkNative(t, m)
			checkJWT(t, m)
		}
		if accepted > 3 {
			t.FailNow()
		}
	}
}

// TestValuesRoundTrip writes random values and reads the same.
func TestValuesRoundTrip(t *testing.T) {
	var gen func(depth int) *rapid.Generator[any]
	gen = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			kinds := 6
			if depth > 0 {
				kinds = 8
			}
			switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
			case 0:
				return nil
			case 1:
				return rapid.Bool().Draw(t, "bool")
			case 2:
				return rapid.Int64Range(-maxInt53, maxInt53).Draw(t, "int")
			case 3:
				return rapid.String().Draw(t, "text")
			case 4:
				return rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "bytes")
			case 5:
				return rapid.Float64Range(-1e9, 1e9).Draw(t, "float")
			case 6:
				return rapid.SliceOfN(gen(depth-1), 0, 4).Draw(t, "list")
			}
			return rapid.MapOfN(rapid.String(), gen(depth-1), 0, 4).Draw(t, "map")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		v := gen(3).Draw(t, "value")
		var w cborWriter
		if err := w.value(v, maxNesting); err != nil {
			t.Skip(err) // rapid makes texts that are not UTF-8
		}
		back, err := decodeCBOR(w.b)
		if err != nil {
			t.Fatalf("%v was written as %x: %v", v, w.b, err)
		}
		var again cborWriter
		if err := again.value(back, maxNesting); err != nil || !bytes.Equal(again.b, w.b) {
			t.Fatalf("%x was read and written as %x, %v", w.b, again.b, err)
		}
	})
}
