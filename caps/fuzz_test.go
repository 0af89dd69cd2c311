package caps

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func FuzzParseResource(f *testing.F) {
	for _, seed := range []string{
		"", "/", "w/notes/", "//", "w//x", "w/../s", "did:key:zA/w", "did:key:zA/did:key:zB", "DID:key:z", "did:web:h%3A1/w",
		"file://", "file:///", "file:/x", "File://a", "https://h:443/x", "https://[::1]:8443/", "http://u@h", "w/a%2fb", "w/%252e",
		"w/cafe\u0301", "w/caf\u00e9", "w/\u202e", "w/\ufffd", "w/\xff", "w/\u1100\u1161", "a:/b", "w/a://b", "did:key:zA/x:/y",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkPlain(t, s)
		r, err := ParseResource(s)
		if err != nil {
			checkPrintable(t, err)
			if r != (Resource{}) {
				t.Fatalf("ParseResource(%q) = %q with its error", s, r)
			}
			return
		}
		text := r.String()
		if again, err := ParseResource(text); err != nil || again != r {
			t.Fatalf("ParseResource(%q) = %q, which parses as %q, %v", s, text, again, err)
		}
		if norm.NFC.String(text) != text {
			t.Fatalf("ParseResource(%q) is not NFC", s)
		}
		for seg := range slices.Values(r.Segments()) {
			if seg == "" || seg == "." || seg == ".." || strings.ContainsAny(seg, "\\*?#\x00\n") {
				t.Fatalf("ParseResource(%q) has the segment %q", s, seg)
			}
		}
		if !r.Covers(r) || len(r.Segments()) != r.depth() {
			t.Fatalf("%q: covers itself %v, depth %d, segments %q", text, r.Covers(r), r.depth(), r.Segments())
		}
		// What remains of an owner's own resource is canonical too, and bare.
		if did := r.DID(); did != "" {
			bare := r.In(did)
			if again, err := ParseResource(bare.String()); err != nil || again != bare || bare.DID() != "" {
				t.Fatalf("%q.In(%q) = %q, which parses as %q, %v", text, did, bare, again, err)
			}
		}
		set := Of(MustCapability(s, "crud"))
		if !set.Check(Need("crud/read", s)).IsAllowed() || !set.Covers(set) {
			t.Fatalf("a capability on %q does not allow %q", s, s)
		}
	})
}

// checkPlain holds the fast way of reading a resource to the slow one.
func checkPlain(t interface{ Fatalf(string, ...any) }, s string) {
	if !isPlain(s) {
		return
	}
	if r, err := canonical(s, s); err != nil || r.text != s {
		t.Fatalf("%q is plain, and reads as %q, %v", s, r, err)
	}
}

func TestPlainTextIsCanonical(t *testing.T) {
	plain := 0
	text := rapid.StringOf(rapid.SampledFrom([]rune("aZ0_- ///..:%2f*?#\\\x00\x1f\x7f\u0080é")))
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		checkPlain(t, s)
		if isPlain(s) {
			plain++
		}
	})
	if plain < 20 {
		t.Errorf("only %d texts were plain", plain)
	}
	for _, s := range []string{"w/notes/today", "w/Acme Corp", "w/a.b", "a", strings.Repeat("a", maxResourceBytes)} {
		if !isPlain(s) {
			t.Errorf("%.20q goes the slow way", s)
		}
	}
}

func FuzzParseSet(f *testing.F) {
	for _, seed := range []string{
		`null`, `[]`, `"[]"`, `{}`, `[{"with":"w/","can":"crud"}]`, `[{"with":"","can":"*"},{"can":"a/b","with":"did:key:z/w"}]`,
		`[{"With":"w","can":"crud"}]`, `[{"with":"w","with":"x","can":"crud"}]`, `[{"with":"w\ud800","can":"crud"}]`, `[[[[[[[[[[]]]]]]]]]]`,
		`[{"with":"w","can":1e400}]`, `[] []`, "[{\"with\":\"\xff\",\"can\":\"a\"}]", `{"a":1,"a":2}`, `[{1:2}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := ParseSet(data)
		if err != nil {
			checkPrintable(t, err)
			if !set.IsEmpty() {
				t.Fatalf("ParseSet(%q) = %v with its error", data, set)
			}
			return
		}
		if set.IsUnrestricted() != (strings.TrimSpace(string(data)) == "null") {
			t.Fatalf("ParseSet(%q) = %v", data, set)
		}
		out, err := json.Marshal(set)
		if err != nil {
			t.Fatalf("ParseSet(%q): %v", data, err)
		}
		again, err := ParseSet(out)
		if err != nil || again.String() != set.String() || again.Len() != set.Len() || !again.Equal(set) {
			t.Fatalf("ParseSet(%q) = %v, which comes back from %s as %v, %v", data, set, out, again, err)
		}
		if both := set.Intersect(again); !both.Equal(set) {
			t.Fatalf("%v with itself = %v", set, both)
		}
	})
}
