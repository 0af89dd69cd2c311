package venue

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"usher/tools/workspace"
)

func TestValueDigest(t *testing.T) {
	digest := func(text string) string {
		d, err := valueDigest(workspace.Unwrapped(json.RawMessage(text)))
		if err != nil {
			t.Fatalf("digest of %s: %v", text, err)
		}
		return d
	}
	for _, same := range [][]string{
		{"1", "1.0", "10e-1", "0.1E+1", " 1 "},
		{"0", "-0", "0.00", "0e5"},
		{"-100", "-1e2", "-100.0"},
		{`"a"`, `"\u0061"`},
		{`{"a":1,"b":[{"c":2.0,"d":null}]}`, `{ "b": [ {"d":null, "c":2} ], "a": 1.0 }`},
		{`"{\"a\":1}"`, `{"a":1}`, `" {\"a\": 1.0}\n"`},
		{`"[1]"`, `[1]`},
	} {
		for _, other := range same[1:] {
			if digest(same[0]) != digest(other) {
				t.Errorf("%s and %s have two digests", same[0], other)
			}
		}
	}
	seen := make(map[string]string)
	for _, text := range []string{
		"null", "true", "false", `"true"`, "1", `"1"`, "-1", "10", "9007199254740993", "9007199254740992", "1e999999999999999999999", "1e999999999999999999998",
		"1e400", `""`, "[]", "{}", "[[]]", "[1,2]", "[12]", "[2,1]", `["1,2"]`, `{"a":"b"}`, `{"a":{"b":null}}`, `"{a"`, `"[1"`, `{"a,":1}`, `{"a":1,"":1}`,
	} {
		d := digest(text)
		if other, taken := seen[d]; taken {
			t.Errorf("%s and %s have the same digest", text, other)
		}
		seen[d] = text
	}
	for _, text := range []string{"", "{", "1 2"} {
		if d, err := valueDigest(json.RawMessage(text)); err == nil {
			t.Errorf("digest of %q is %s", text, d)
		}
	}
}

// Two spellings of numbers are the same where the numbers are.
func TestCanonicalNumber(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) string {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,4})(\.[0-9]{1,4})?`).Draw(t, "number")
		if rapid.Bool().Draw(t, "exponent") {
			text += fmt.Sprintf("e%d", rapid.IntRange(-6, 6).Draw(t, "power"))
		}
		return text
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		z, okZ := new(big.Rat).SetString(canonicalNumber(a))
		if !okX || !okY || !okZ {
			t.Fatalf("%s, %s or %s is no number", a, b, canonicalNumber(a))
		}
		if x.Cmp(z) != 0 {
			t.Fatalf("canonicalNumber(%s) = %s", a, canonicalNumber(a))
		}
		if (canonicalNumber(a) == canonicalNumber(b)) != (x.Cmp(y) == 0) {
			t.Fatalf("%s is %s, and %s is %s", a, canonicalNumber(a), b, canonicalNumber(b))
		}
	})
}

// What was written has the digest of its entry, however odd it is.
func TestDigestOfWhatIsStored(t *testing.T) {
	v, err := Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	u, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	var gen func(depth int) *rapid.Generator[string]
	gen = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			n := 5
			if depth == 0 {
				n = 3
			}
			switch rapid.IntRange(0, n).Draw(t, "k") {
			case 0:
				return rapid.SampledFrom([]string{"null", "true", "1", "-0", "1.50", "1e400", "1E+5", "0e0", "123456789012345678901234567890", "1e99999999999999"}).Draw(t, "n")
			case 1, 2, 3:
				s := rapid.SampledFrom([]string{`""`, `"\ud800"`, `"e\u0301"`, `"{\"a\":1}"`, `" [1] "`, `"\u0000"`, `"\u2028<>&"`, `"{\"a\":1} x"`, `"\u00a0[1]"`, `"\u000b{}"`}).Draw(t, "s")
				return s
			case 4:
				out := "["
				for i := range rapid.IntRange(0, 3).Draw(t, "len") {
					if i > 0 {
						out += ","
					}
					out += gen(depth-1).Draw(t, "i")
				}
				return out + "]"
			default:
				out := "{"
				for i := range rapid.IntRange(0, 3).Draw(t, "len") {
					if i > 0 {
						out += ","
					}
					out += rapid.SampledFrom([]string{`"a"`, `""`, `"a/b"`, `"\ud800"`, `"e\u0301"`, `"."`, `"\u0000"`, `"0"`}).Draw(t, "key") + ":" + gen(depth-1).Draw(t, "i")
				}
				return out + "}"
			}
		})
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := gen(2).Draw(rt, "value")
		if !json.Valid([]byte(text)) {
			return
		}
		want, err := valueDigest(workspace.Unwrapped(json.RawMessage(text)))
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := u.Invoke(t.Context(), "covia:write", map[string]any{"path": "w/x", "value": json.RawMessage(text)}); err != nil {
			rt.Logf("write %s: %v", text, err)
			return
		}
		got, err := u.storedDigest(t.Context(), "w/x")
		if err != nil || got != want {
			out, _ := u.Invoke(t.Context(), "covia:read", map[string]any{"path": "w/x"})
			rt.Fatalf("%s is stored as %s: %s, %s, %v", text, out, got, want, err)
		}
	})
}
