package caps

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestParseResource(t *testing.T) {
	long := strings.Repeat("a", maxResourceBytes)
	for in, want := range map[string]string{
		"":                           "",
		"/":                          "",
		"w":                          "w",
		"w/":                         "w",
		"/w":                         "w",
		"/w/notes/":                  "w/notes",
		"w/Acme Corp":                "w/Acme Corp",
		"w/café":                     "w/café",
		"w/日本語":                      "w/日本語",
		"w/\u0645\u06cc\u200c\u062e": "w/\u0645\u06cc\u200c\u062e", // a word that needs its joiner
		"w/👩\u200d🚀":                 "w/👩\u200d🚀",
		"w/100%":                     "w/100%",
		"w/50% off":                  "w/50% off",
		"w/a%20b":                    "w/a%20b",
		"w/...":                      "w/...",
		"w/.hidden":                  "w/.hidden",
		"w/a:":                       "w/a:",
		"w/a:/b":                     "w/a:/b",
		"a:b":                        "a:b",
		"x/did:key:z":                "x/did:key:z",
		"did:key:zAlice":             "did:key:zAlice",
		"did:key:zAlice/":            "did:key:zAlice",
		"/did:key:zAlice/w/x/":       "did:key:zAlice/w/x",
		"did:key:zAlice...":          "did:key:zAlice...",
		"did:web:localhost%3A8080/w": "did:web:localhost%3A8080/w",
		"did:web:a.example:u:bob/w":  "did:web:a.example:u:bob/w",
		"file://":                    "file://",
		"/file://":                   "file://",
		"file://scratch":             "file://scratch",
		"file://scratch/":            "file://scratch",
		"file://scratch/a:b/c":       "file://scratch/a:b/c",
		"git+ssh://h/x":              "git+ssh://h/x",
		"https://":                   "https://",
		"https://api.example.com":    "https://api.example.com",
		"https://h:8443/v1":          "https://h:8443/v1",
		"http://h:443/":              "http://h:443",
		"http://[::1]:8080/x":        "http://[::1]:8080/x",
		"https://my_host/x":          "https://my_host/x",
		long:                         long,
		"/" + long + "/":             long,
	} {
		r, err := ParseResource(in)
		if err != nil || r.String() != want {
			t.Errorf("ParseResource(%q) = %q, %v, want %q", in, r, err, want)
		}
	}
}

func TestParseResourceRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"//":                          "empty segment",
		"//w":                         "empty segment",
		"w//":                         "empty segment",
		"w//x":                        "empty segment",
		".":                           `"." segment`,
		"w/./x":                       `"." segment`,
		"w/../s":                      `".." segment`,
		"w/..":                        `".." segment`,
		"../w":                        `".." segment`,
		"w/a\x00b":                    "control character",
		"w/a\nb":                      "control character",
		"w/\x7f":                      "control character",
		"w/\u0085":                    "control character",
		"w/\u009f":                    "control character",
		"w/\u2028":                    "control character",
		"w/\u2029":                    "control character",
		"w/\u202e":                    "bidirectional control",
		"w/\u2066":                    "bidirectional control",
		"w/\u200f":                    "bidirectional control",
		"w/\u061c":                    "bidirectional control",
		"w/a\u200bb":                  "zero-width",
		"w/\u2060":                    "zero-width",
		"w/\ufeff":                    "zero-width",
		"w\\x":                        `write "/"`,
		"*":                           "patterns",
		"w/*":                         "patterns",
		"w/a?b":                       "query",
		"w/#a":                        "query",
		"w/a%2fb":                     "percent-encoded",
		"w/a%2Fb":                     "percent-encoded",
		"w/%5c":                       "percent-encoded",
		"w/%2e%2e/s":                  "percent-encoded",
		"w/%2a":                       "percent-encoded",
		"w/%3f":                       "percent-encoded",
		"w/%3Fa":                      "percent-encoded",
		"w/%23":                       "percent-encoded",
		"w/%00":                       "percent-encoded",
		"w/%1f":                       "percent-encoded",
		"w/%0a":                       "percent-encoded",
		"w/%7f":                       "percent-encoded",
		"w/%7F":                       "percent-encoded",
		"w/%252e":                     "percent-encoded",
		"w/\xff":                      "invalid UTF-8",
		"w/\xed\xa0\x80":              "invalid UTF-8",
		"w/\xc0\xaf":                  "invalid UTF-8",
		"w/\ufffd":                    "replacement character",
		"w/cafe\u0301":                "NFC",
		"w/\u212b":                    "NFC",
		"w/\u0344":                    "NFC",
		strings.Repeat("a", 1025):     "1025 bytes",
		strings.Repeat("a/", 600):     "at most 1024",
		"DID:key:zA":                  "lower case",
		"Did:key:zA/w":                "lower case",
		"did:":                        "did:<method>:<id>",
		"did:key":                     "did:<method>:<id>",
		"did:key:":                    "did:<method>:<id>",
		"did:key:/w":                  "did:<method>:<id>",
		"did::zA":                     "did:<method>:<id>",
		"did:Key:zA":                  "lower-case",
		"did:key:z A":                 "DID id",
		"did:key:z%2FA":               "percent-encoded",
		"did:key:z%4":                 "DID id",
		"did:key:zé":                  "DID id",
		"did:key:zA:":                 "colon",
		"did:key:zA//w":               "empty segment",
		"did:key:zA//":                "empty segment",
		"did:key:zA/../w":             `".." segment`,
		"did:key:zA/did:key:zB/w":     "one DID",
		"did:key:zA/DID:key:zB/w":     "one DID",
		"did:key:zA/file:":            "scheme",
		"did:key:zA/file://x":         "empty segment",
		"did:key:zA#key-1":            "fragment",
		"did:key:zA?x=1":              "query",
		"file:":                       `"file://"`,
		"file:/":                      `"file://"`,
		"file:/etc":                   `"file://"`,
		"file:///":                    "empty segment",
		"file:///etc":                 "empty segment",
		"file://a//b":                 "empty segment",
		"file://a/../b":               `".." segment`,
		"FILE://a":                    `"file://"`,
		"File://":                     `"file://"`,
		"1a://x":                      "no scheme",
		"://x":                        "no scheme",
		"a_b://x":                     "no scheme",
		"w/file://x":                  "empty segment",
		"https://Example.com":         `"example.com"`,
		"https://user@example.com":    "user name",
		"https://u:p@h":               "user name",
		"https://h:443/x":             "default",
		"http://h:80":                 "default",
		"https://h:0443/x":            "leading zeros",
		"https://h:/x":                "port",
		"https://h:99999":             "port",
		"https://h.":                  "plain host name",
		"https://.h":                  "plain host name",
		"https://a..b":                "plain host name",
		"https://bücher.example":      "xn--",
		"https://h:a:80/x":            "plain host name",
		"https://[::1]]/x":            "bracket",
		"https://[1.2.3.4]/x":         "IPv6",
		"https://[::ffff:1.2.3.4]/x":  "write 1.2.3.4",
		"https://[::ffff:102:304]/x":  "write 1.2.3.4",
		"https://16909060":            "four decimal numbers",
		"https://0x1020304/x":         "four decimal numbers",
		"https://1.2.772":             "four decimal numbers",
		"https://01.2.3.4":            "four decimal numbers",
		"https://1.2.3.0x4":           "four decimal numbers",
		"https://1.2.3.256":           "four decimal numbers",
		"https://ex%61mple.com":       "host",
		"https://[::1":                "host",
		"https://[0:0:0:0:0:0:0:1]/x": "[::1]",
		"https://[fe80::1%eth0]/x":    "zone",
		"https://[::1]x/y":            "bracket",
		"https://:8080/x":             "plain host name",
	} {
		r, err := ParseResource(in)
		if err == nil {
			t.Errorf("ParseResource(%q) = %q, want an error with %q", in, r, want)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("ParseResource(%q) = %v, want an error with %q", in, err, want)
		}
		checkPrintable(t, err)
		if r != (Resource{}) {
			t.Errorf("ParseResource(%q) returns %q with its error", in, r)
		}
	}
}

// checkPrintable fails where an error echoes what could move a cursor.
func checkPrintable(t *testing.T, err error) {
	t.Helper()
	for _, r := range err.Error() {
		if !unicode.IsPrint(r) {
			t.Errorf("error %q holds %U", err, r)
		}
	}
}

func TestParseSegments(t *testing.T) {
	for _, c := range []struct {
		segs []string
		want string
		err  string
	}{
		{nil, "", ""},
		{[]string{"w", "notes"}, "w/notes", ""},
		{[]string{"did:key:zA", "w"}, "did:key:zA/w", ""},
		{[]string{"w", ""}, "", "segment 1 is empty"},
		{[]string{"", "w"}, "", "segment 0 is empty"},
		{[]string{"w/x"}, "", "holds a slash"},
		{[]string{"/"}, "", "holds a slash"},
		{[]string{"w", ".."}, "", `".."`},
		{[]string{"w", "did:key:zA"}, "w/did:key:zA", ""},
		{[]string{"did:key:zA", "did:key:zB"}, "", "one DID"},
		{[]string{"file:", "x"}, "", `"file://"`},
		{[]string{"w", "a\u0000"}, "", "control"},
	} {
		r, err := ParseSegments(c.segs)
		if r.String() != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("ParseSegments(%q) = %q, %v, want %q, %q", c.segs, r, err, c.want, c.err)
		}
	}
}

func TestResourceParts(t *testing.T) {
	type parts struct {
		DID, Path string
		Segments  []string
		Depth     int
	}
	for in, want := range map[string]parts{
		"":                  {},
		"w":                 {"", "w", []string{"w"}, 1},
		"w/a:/b":            {"", "w/a:/b", []string{"w", "a:", "b"}, 3},
		"did:key:zA":        {"did:key:zA", "", nil, 0},
		"did:key:zA/w/x":    {"did:key:zA", "w/x", []string{"w", "x"}, 2},
		"file://":           {"", "file://", []string{"file://"}, 1},
		"file://scratch/x/": {"", "file://scratch/x", []string{"file://", "scratch", "x"}, 3},
	} {
		r := mustResource(in)
		got := parts{r.DID(), r.Path(), r.Segments(), r.depth()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestResourceIn(t *testing.T) {
	for _, c := range []struct{ in, owner, want string }{
		{"did:key:zA/w/x", "did:key:zA", "w/x"},
		{"did:key:zA", "did:key:zA", ""},
		{"did:key:zAB/w", "did:key:zA", "did:key:zAB/w"},
		{"did:key:zA:b/w", "did:key:zA", "did:key:zA:b/w"},
		{"did:key:zA/w", "", "did:key:zA/w"},
		{"did:key:zA/w/x", "did:key:zA/w", "did:key:zA/w/x"},
		{"did:key:zA/w", "did:key:zA/", "did:key:zA/w"},
		{"w/x", "did:key:zA", "w/x"},
		{"w/x", "w", "w/x"},
	} {
		if got := mustResource(c.in).In(c.owner); got.String() != c.want {
			t.Errorf("%q.In(%q) = %q, want %q", c.in, c.owner, got, c.want)
		}
	}
}

func TestParseAbility(t *testing.T) {
	for _, ok := range []string{"*", "crud", "crud/read", "a/b/c/d/e/f/g/h", "a_b-0", strings.Repeat("a", 128)} {
		if a, err := ParseAbility(ok); err != nil || string(a) != ok {
			t.Errorf("ParseAbility(%q) = %q, %v", ok, a, err)
		}
	}
	for in, want := range map[string]string{
		"":                       `"*"`,
		"Crud":                   `write e.g. "crud"`,
		"crud/*":                 `write e.g. "crud"`,
		"crud/":                  `write e.g. "crud"`,
		"/crud":                  `write e.g. "crud"`,
		"//":                     `write e.g. "*"`,
		"crud//read":             "empty segment",
		"crud read":              "only lower-case",
		"**":                     `write e.g. "*"`,
		"crud/é":                 "only lower-case",
		"crud\n":                 "only lower-case",
		"a/b/c/d/e/f/g/h/i":      "9 segments",
		strings.Repeat("a", 129): "129 bytes",
	} {
		a, err := ParseAbility(in)
		if err == nil || !strings.Contains(err.Error(), want) || a != "" {
			t.Errorf("ParseAbility(%q) = %q, %v, want an error with %q", in, a, err, want)
			continue
		}
		checkPrintable(t, err)
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		json, want, err string
		given           bool
	}{
		{`{}`, "", "missing", false},
		{`{"p":null}`, "", "missing", false},
		{`{"p":""}`, "", "", true},
		{`{"p":[]}`, "", "", true},
		{`{"p":"/w/notes/"}`, "w/notes", "", true},
		{`{"p":["w","notes"]}`, "w/notes", "", true},
		{`{"p":["w/notes"]}`, "", "holds a slash", true},
		{`{"p":["w",0]}`, "", "segment 1 is a number", true},
		{`{"p":7}`, "", "path is a number", true},
		{`{"p":true}`, "", "path is a boolean", true},
		{`{"p":{"with":"w"}}`, "", "path is an object", true},
		{`{"p":"w/../s"}`, "", `".."`, true},
		{`{"p":"w/\u0000"}`, "", "control", true},
		{`{"p":"w/\ufffd"}`, "", "U+FFFD", true},
		{"{\"p\":\"w/\xff\"}", "", "UTF-8", true},
		{`{"p":[[[[[[[[[[[]]]]]]]]]]]}`, "", "nested", true},
	} {
		var in struct {
			P Path `json:"p"`
		}
		if err := json.Unmarshal([]byte(c.json), &in); err != nil {
			t.Errorf("Unmarshal(%s) = %v", c.json, err)
			continue
		}
		r, err := in.P.Resource()
		if r.String() != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: Resource() = %q, %v, want %q, %q", c.json, r, err, c.want, c.err)
		}
		if in.P.IsPresent() != c.given || errors.Is(err, errNoPath) == c.given {
			t.Errorf("%s: Given() = %v, want %v (%v)", c.json, in.P.IsPresent(), c.given, err)
		}
		again, err := json.Marshal(in.P)
		if err != nil {
			t.Errorf("%s: Marshal = %v", c.json, err)
		}
		var back Path
		if err := json.Unmarshal(again, &back); err != nil || back.String() != in.P.String() && back.err == nil {
			t.Errorf("%s: %s comes back as %v, %v", c.json, again, back, err)
		}
	}
}
