package ucan

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestH13JWTHeader(t *testing.T) {
	w := newWorld(t)
	iss := w.alice.DID().s
	frag := strings.TrimPrefix(iss, "did:key:")
	for _, c := range []struct {
		name, header string
		want         error
	}{
		{"plain", plainHeader, nil},
		{"any order and spaces", `{ "typ": "JWT", "alg": "EdDSA" }`, nil},
		{"version 0.8", `{"alg":"EdDSA","typ":"JWT","ucv":"0.8.1"}`, nil},
		{"kid is the issuer", `{"alg":"EdDSA","typ":"JWT","kid":"` + iss + `"}`, nil},
		{"kid is the issuer's key", `{"alg":"EdDSA","typ":"JWT","kid":"` + iss + "#" + frag + `"}`, nil},
		{"kid is the bare key", `{"alg":"EdDSA","typ":"JWT","kid":"` + frag + `","ucv":"0.10.0"}`, nil},
		{"kid is another's bare key", `{"alg":"EdDSA","typ":"JWT","kid":"` + strings.TrimPrefix(w.bob.DID().s, "did:key:") + `"}`, ErrKeyID},
		{"kid of another", `{"alg":"EdDSA","typ":"JWT","kid":"` + w.bob.DID().s + `"}`, ErrKeyID},
		{"kid with another fragment", `{"alg":"EdDSA","typ":"JWT","kid":"` + iss + `#key-1"}`, ErrKeyID},
		{"kid empty", `{"alg":"EdDSA","typ":"JWT","kid":""}`, ErrKeyID},
		{"kid a number", `{"alg":"EdDSA","typ":"JWT","kid":1}`, ErrMalformed},
		{"alg none", `{"alg":"none","typ":"JWT"}`, ErrAlgorithm},
		{"alg HS256", `{"alg":"HS256","typ":"JWT"}`, ErrAlgorithm},
		{"alg in lower case", `{"alg":"eddsa","typ":"JWT"}`, ErrAlgorithm},
		{"alg missing", `{"typ":"JWT"}`, ErrAlgorithm},
		{"alg a number", `{"alg":1,"typ":"JWT"}`, ErrAlgorithm},
		{"alg twice", `{"alg":"none","alg":"EdDSA","typ":"JWT"}`, ErrMalformed},
		{"alg twice, escaped", `{"alg":"EdDSA","\u0061lg":"none","typ":"JWT"}`, ErrMalformed},
		{"ALG", `{"alg":"EdDSA","ALG":"none","typ":"JWT"}`, ErrMalformed},
		{"typ missing", `{"alg":"EdDSA"}`, ErrMalformed},
		{"typ other", `{"alg":"EdDSA","typ":"JWE"}`, ErrMalformed},
		{"crit", `{"alg":"EdDSA","typ":"JWT","crit":["exp"]}`, ErrMalformed},
		{"jwk", `{"alg":"EdDSA","typ":"JWT","jwk":{}}`, ErrMalformed},
		{"b64", `{"alg":"EdDSA","typ":"JWT","b64":false}`, ErrMalformed},
		{"version 0.7", `{"alg":"EdDSA","typ":"JWT","ucv":"0.7.0"}`, ErrVersion},
		{"version 1.0", `{"alg":"EdDSA","typ":"JWT","ucv":"1.0.0"}`, ErrVersion},
		{"version without patch", `{"alg":"EdDSA","typ":"JWT","ucv":"0.8"}`, ErrVersion},
		{"not JSON", `{"alg":"EdDSA","typ":"JWT"`, ErrMalformed},
		{"two objects", plainHeader + plainHeader, ErrMalformed},
		{"list", `["EdDSA"]`, ErrMalformed},
		{"not UTF-8", "{\"alg\":\"EdDSA\",\"typ\":\"JWT\",\"kid\":\"\xff\"}", ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := signJWT(t, w.alice, c.header, w.claims(w.alice, w.bob.DID(), cap1("w", "crud")))
			if raw[0] != 'e' { // a header that begins with a space or a list
				raw = "e" + raw[1:]
			}
			_, err := Open([]byte(raw))
			wantErr(t, err, c.want)
		})
	}
}

func TestJWTClaims(t *testing.T) {
	w := newWorld(t)
	good := w.claims(w.alice, w.bob.DID(), cap1("w", "crud"))
	bob := w.bob.DID().s
	for _, c := range []struct {
		name   string
		claims any
		want   error
	}{
		{"good", good, nil},
		{"no prf", with(good, "prf", []any{}), nil},
		{"unknown claim", with(good, "jti", "1"), nil},
		{"facts as a list", with(good, "fct", []any{att{"a": 1}}), nil},
		{"facts as an object", with(good, "fct", att{"a": 1}), nil},
		{"facts as null", with(good, "fct", nil), ErrMalformed},
		{"issuer in base64", with(good, "iss", "did:key:m7QFUQMmMS7qq4UhTzKn3X9Nj/4xgrwa+UqhMOeo4Ki8JUw"), ErrMalformed},
		{"audience with a path", with(good, "aud", bob+"/g/Carol"), ErrMalformed},
		{"audience did:web", with(good, "aud", "did:web:example.org"), ErrMalformed},
		{"audience a list", with(good, "aud", []any{bob}), ErrMalformed},
		{"exp a text", with(good, "exp", "1"), ErrMalformed},
		{"exp a fraction", with(good, "exp", 1.5), ErrMalformed},
		{"exp negative", with(good, "exp", -1), ErrMalformed},
		{"exp huge", []byte(`{"iss":"` + w.alice.DID().s + `","aud":"` + bob + `","att":[],"exp":1e300}`), ErrMalformed},
		{"exp as 1e3", []byte(`{"iss":"` + w.alice.DID().s + `","aud":"` + bob + `","att":[],"exp":1e3}`), ErrMalformed},
		{"nbf null", with(good, "nbf", nil), ErrMalformed},
		{"nnc a number", with(good, "nnc", 1), ErrMalformed},
		{"att null", with(good, "att", nil), ErrMalformed},
		{"att an object", with(good, "att", att{}), ErrMalformed},
		{"att of texts", with(good, "att", []any{"w"}), ErrMalformed},
		{"att without can", with(good, "att", []any{att{"with": "w"}}), ErrMalformed},
		{"att with a caveat", with(good, "att", []any{att{"with": "w", "can": "crud", "nb": att{}}}), ErrMalformed},
		{"att Can", with(good, "att", []any{att{"with": "w", "Can": "crud"}}), ErrMalformed},
		{"can empty", with(good, "att", cap1("w", "")), ErrMalformed},
		{"can in upper case", with(good, "att", cap1("w", "CRUD")), ErrMalformed},
		{"can with a star", with(good, "att", cap1("w", "crud/*")), ErrMalformed},
		{"with dots", with(good, "att", cap1("w/../s", "crud")), ErrMalformed},
		{"with a star", with(good, "att", cap1("w/*", "crud")), ErrMalformed},
		{"with a backslash", with(good, "att", cap1(`w\s`, "crud")), ErrMalformed},
		{"with percent-encoding", with(good, "att", cap1("w/%2e%2e", "crud")), ErrMalformed},
		{"with did:web", with(good, "att", cap1("did:web:x/w", "crud")), ErrMalformed},
		{"prf an object", with(good, "prf", att{}), ErrMalformed},
		{"prf of numbers", with(good, "prf", []any{1}), ErrMalformed},
		{"prf no CID", with(good, "prf", []any{"we"}), ErrMalformed},
		{"prf with dots", with(good, "prf", []any{"a.b.c"}), ErrMalformed},
		{"prf with more dots", with(good, "prf", []any{"a.b.c.d"}), ErrMalformed},
		{"ISS beside iss", with(good, "ISS", bob), ErrMalformed},
		{"iſs beside iss", with(good, "iſs", bob), ErrMalformed},
		{"Exp", with(good, "Exp", 1), ErrMalformed},
		{"iss twice", []byte(`{"iss":"` + bob + `","iss":"` + w.alice.DID().s + `","aud":"` + bob + `","att":[],"exp":9}`), ErrMalformed},
		{"versions differ", with(good, "ucv", "0.9.1"), ErrVersion},
		{"deep facts", []byte(`{"fct":[` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `]}`), ErrTooDeep},
	} {
		t.Run(c.name, func(t *testing.T) {
			header := plainHeader
			if c.name == "versions differ" {
				header = `{"alg":"EdDSA","typ":"JWT","ucv":"0.8.1"}`
			}
			_, err := Open([]byte(signJWT(t, w.alice, header, c.claims)))
			wantErr(t, err, c.want)
		})
	}
	for _, key := range []string{"iss", "aud", "exp", "att"} {
		m := with(good, "nnc", "")
		delete(m, key)
		_, err := Open([]byte(signJWT(t, w.alice, plainHeader, m)))
		wantErr(t, err, ErrMalformed)
	}
}

// TestJWTHasOneSpelling shows that none of the spellings that lax readers take
// for the same signature is read.
func TestJWTHasOneSpelling(t *testing.T) {
	w := newWorld(t)
	token := w.jwt(w.alice, w.bob.DID(), cap1("w", "crud"))
	first := mustOpen(t, token)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	lax, head := 0, token[:len(token)-1]
	sig, _ := base64.RawURLEncoding.DecodeString(token[strings.LastIndexByte(token, '.')+1:])
	for _, c := range alphabet {
		other := head + string(c)
		got, err := base64.RawURLEncoding.DecodeString(other[strings.LastIndexByte(other, '.')+1:])
		if err != nil || !bytes.Equal(got, sig) {
			continue
		}
		lax++
		if other == token {
			continue
		}
		if _, err := Open([]byte(other)); !errors.Is(err, ErrNotCanonical) {
			t.Errorf("ending in %c: %v", c, err)
		}
	}
	if lax != 16 {
		t.Errorf("a lax reader takes %d spellings; the test expects 16", lax)
	}
	for name, other := range map[string]string{
		"padding":        token + "==",
		"line end":       token + "\n",
		"line end first": "\n" + token,
		"inner line end": token[:20] + "\r\n" + token[20:],
		"space":          token[:20] + " " + token[20:],
		"a fourth part":  token + ".",
		"two parts":      token[:strings.LastIndexByte(token, '.')],
		"std alphabet":   strings.NewReplacer("-", "+", "_", "/").Replace(token) + "+",
	} {
		if l, err := Open([]byte(other)); err == nil {
			t.Errorf("%s: read as %v, the token is %v", name, l, first)
		}
	}
}

// reencode spells a canonical native token in another way.
func reencodings(raw []byte) map[string][]byte {
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	sig, rest := raw[3:67], raw[67:] // 82 58 40 <sig> a2 61 'h' 48 <varsig> <tag> <payload>
	header, tagged := rest[1:12], rest[12:]
	return map[string][]byte{
		"indefinite list":            cat([]byte{0x9f, 0x58, 0x40}, sig, rest, []byte{0xff}),
		"list length in one byte":    cat([]byte{0x98, 0x02, 0x58, 0x40}, sig, rest),
		"bytes length in two bytes":  cat([]byte{0x82, 0x59, 0x00, 0x40}, sig, rest),
		"bytes length in four bytes": cat([]byte{0x82, 0x5a, 0, 0, 0, 0x40}, sig, rest),
		"map length in one byte":     cat([]byte{0x82, 0x58, 0x40}, sig, []byte{0xb8, 0x02}, rest[1:]),
		"indefinite map":             cat([]byte{0x82, 0x58, 0x40}, sig, []byte{0xbf}, rest[1:], []byte{0xff}),
		"envelope map swapped":       cat([]byte{0x82, 0x58, 0x40}, sig, []byte{0xa2}, tagged, header),
		"indefinite bytes":           cat([]byte{0x82, 0x5f, 0x58, 0x40}, sig, []byte{0xff}, rest),
		"trailing byte":              cat(raw, []byte{0}),
		"tag before":                 cat([]byte{0xd9, 0xd9, 0xf7}, raw),
	}
}

func TestNativeHasOneSpelling(t *testing.T) {
	w := newWorld(t)
	raw := w.nativeRaw(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil)
	for name, other := range reencodings(raw) {
		if l, err := Open(other); err == nil {
			t.Errorf("%s: read as %v", name, l)
		}
	}
	if _, err := Open(raw); err != nil {
		t.Fatal(err)
	}
}

func TestCBORReader(t *testing.T) {
	link := "d82a5825000155122000000000000000000000000000000000000000000000000000000000000000aa"
	for _, c := range []struct {
		name, hex string
		want      error
	}{
		{"zero", "00", nil},
		{"23", "17", nil},
		{"24", "1818", nil},
		{"-1", "20", nil},
		{"53 bits", "1b001fffffffffffff", nil},
		{"54 bits", "1b0020000000000000", ErrMalformed},
		{"23 in two bytes", "1817", ErrNotCanonical},
		{"255 in three bytes", "1900ff", ErrNotCanonical},
		{"65535 in five bytes", "1a0000ffff", ErrNotCanonical},
		{"2^32-1 in nine bytes", "1b00000000ffffffff", ErrNotCanonical},
		{"float", "fb3ff8000000000000", nil},
		{"float 32", "fa3fc00000", ErrNotCanonical},
		{"float 16", "f93e00", ErrNotCanonical},
		{"NaN", "fb7ff8000000000000", ErrMalformed},
		{"infinity", "fb7ff0000000000000", ErrMalformed},
		{"null", "f6", nil},
		{"true", "f5", nil},
		{"undefined", "f7", ErrNotCanonical},
		{"simple", "f820", ErrNotCanonical},
		{"break", "ff", ErrNotCanonical},
		{"reserved", "1c", ErrMalformed},
		{"text", "6161", nil},
		{"not UTF-8", "61ff", ErrMalformed},
		{"indefinite text", "7f6161ff", ErrNotCanonical},
		{"map in order", "a2616100626161 00", nil},
		{"keys by length first", "a262616100616200", ErrNotCanonical},
		{"keys out of order", "a2616200616100", ErrNotCanonical},
		{"key twice", "a2616100616100", ErrNotCanonical},
		{"key a number", "a10000", ErrMalformed},
		{"link", link, nil},
		{"another tag", "c000", ErrMalformed},
		{"link without a zero", "d82a5824" + link[10:], ErrMalformed},
		{"list too long", "9affffffff", ErrMalformed},
		{"bytes too long", "5affffffff", ErrMalformed},
		{"ends early", "8201", ErrMalformed},
		{"ends in a head", "19ff", ErrMalformed},
		{"empty", "", ErrMalformed},
		{"nested", strings.Repeat("81", 31) + "00", nil},
		{"nested too deep", strings.Repeat("81", 40) + "00", ErrTooDeep},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			v, err := decodeCBOR(b)
			wantErr(t, err, c.want)
			if c.want == nil {
				var again cborWriter
				if err := again.value(v, maxNesting); err != nil || !bytes.Equal(again.b, b) {
					t.Errorf("written again: %x, %v", again.b, err)
				}
			}
		})
	}
}

func TestNativeRefused(t *testing.T) {
	w := newWorld(t)
	a, c := w.alice.DID(), w.carol.DID()
	aw := w.url(w.alice, "w")
	or := func(x, y string) []any {
		return []any{[]any{"or", []any{[]any{"==", ".with", x}, []any{"like", ".with", y}}}}
	}
	for _, tc := range []struct {
		name    string
		changes map[string]any
		want    error
	}{
		{"good", nil, nil},
		{"released tag", map[string]any{"tag": tagDelegation1}, nil},
		{"unknown tag", map[string]any{"tag": "ucan/dlg@2.0.0"}, ErrVersion},
		{"invocation tag", map[string]any{"tag": tagInvocation}, ErrMalformed},
		{"no subject", map[string]any{"sub": nil}, ErrPowerline},
		{"null subject", map[string]any{"sub": nilValue{}}, ErrPowerline},
		{"no audience", map[string]any{"aud": nil}, ErrMalformed},
		{"no expiry", map[string]any{"exp": nil}, ErrMalformed},
		{"no policy", map[string]any{"pol": nil}, ErrMalformed},
		{"no nonce", map[string]any{"nonce": nil}, ErrMalformed},
		{"short nonce", map[string]any{"nonce": make([]byte, 11)}, ErrMalformed},
		{"unknown field", map[string]any{"prf": []any{}}, ErrMalformed},
		{"meta a text", map[string]any{"meta": "x"}, ErrMalformed},
		{"audience a DID URL", map[string]any{"aud": c.s + "#k"}, ErrMalformed},
		{"command without a slash", map[string]any{"cmd": "crud"}, ErrMalformed},
		{"command with an empty segment", map[string]any{"cmd": "/crud//read"}, ErrMalformed},
		{"command /crud/*", map[string]any{"cmd": "/crud/*"}, ErrMalformed},
		{"command /*", map[string]any{"cmd": "/*"}, ErrMalformed},
		{"command in upper case", map[string]any{"cmd": "/CRUD"}, ErrMalformed},
		{"command with NUL", map[string]any{"cmd": "/a\x00"}, ErrMalformed},
		{"policy not a list", map[string]any{"pol": att{}}, ErrMalformed},
		{"unknown operator", map[string]any{"pol": []any{[]any{"~", ".with", "x"}}}, ErrMalformed},
		{"optional selector", map[string]any{"pol": []any{[]any{"==", ".with?", aw}}}, ErrMalformed},
		{"bare resource", map[string]any{"pol": or("w", "w/*")}, ErrMalformed},
		{"resource with dots", map[string]any{"pol": or(aw+"/../s", aw+"/../s/*")}, ErrMalformed},
		{"resource with a trailing slash", map[string]any{"pol": or(aw+"/", aw+"//*")}, ErrMalformed},
		{"resource with an escaped star", map[string]any{"pol": []any{[]any{"like", ".with", aw + `/\\*`}}}, ErrMalformed},
		{"resource of did:web", map[string]any{"pol": or("did:web:x/w", "did:web:x/w/*")}, ErrMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Open(w.nativeRaw(w.alice, c, a, "crud", aw, tc.changes))
			wantErr(t, err, tc.want)
		})
	}
	for name, raw := range map[string][]byte{
		"empty": nil, "text": []byte("hello"), "list of three": {0x83}, "a million lists": bytes.Repeat([]byte{0x82}, 1<<20),
	} {
		if _, err := Open(raw); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// TestForeignPolicies shows what is read from policies that Usher does not write.
func TestForeignPolicies(t *testing.T) {
	w := newWorld(t)
	a, c := w.alice.DID(), w.carol.DID()
	aw := w.url(w.alice, "w/x")
	for _, tc := range []struct {
		name           string
		pol            []any
		shown          string
		on, below, off bool
	}{
		{"exactly", []any{[]any{"==", ".with", aw}}, aw, true, false, false},
		{"below", []any{[]any{"like", ".with", aw + "/*"}}, aw, false, true, false},
		{"a byte prefix", []any{[]any{"like", ".with", aw + "*"}}, a.s, true, true, false},
		{"two resources", []any{[]any{"or", []any{[]any{"==", ".with", aw}, []any{"like", ".with", a.s + "/s/*"}}}}, a.s, true, false, true},
		{"negated", []any{[]any{"not", []any{"==", ".with", aw}}}, a.s, false, true, true},
		{"both", []any{[]any{"like", ".with", aw + "/*"}, []any{"!=", ".with", aw + "/y"}}, aw, false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := w.native(w.alice, c, a, "crud", "", map[string]any{"pol": tc.pol})
			for _, s := range l.Capabilities() {
				if s.With() != tc.shown {
					t.Errorf("shown as %q; want %q", s.With(), tc.shown)
				}
			}
			if !l.isConditional() {
				t.Error("it does not say that it is conditional")
			}
			for path, want := range map[string]bool{"w/x": tc.on, "w/x/y": tc.below, "s/k": tc.off} {
				if _, err := w.ask(w.carol, "crud", path, nil, l); (err == nil) != want {
					t.Errorf("%s: %v; want allowed %v", path, err, want)
				}
			}
		})
	}
}

func TestCID(t *testing.T) {
	c := cidOf(codecRaw, []byte("x"))
	for _, text := range []string{c.String(), "z" + strings.TrimPrefix(encodeDID(t, 'z', c.Bytes()), "did:key:z")} {
		if got, err := ParseCID(text); err != nil || got != c {
			t.Errorf("ParseCID(%s) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "b", "bafy", strings.ToUpper(c.String()), c.String() + "a", c.String()[:58], "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnzqzD", "bafkr4icyq2ikdjxba7bytuxjjgxfhouzdbwutrqio77cb5logrg7osnsli", c.String() + "="} {
		if got, err := ParseCID(text); err == nil || !got.IsZero() || !errors.Is(err, errCID) {
			t.Errorf("ParseCID(%q) = %v, %v", text, got, err)
		}
	}
	if (CID{}).String() != "" || (CID{}).Bytes() != nil {
		t.Error("the zero CID prints")
	}
	var back CID
	if err := back.UnmarshalText([]byte(fmt.Sprint(c))); err != nil || back != c {
		t.Errorf("UnmarshalText: %v, %v", back, err)
	}
}
