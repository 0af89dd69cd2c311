package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Grüße, 世界 👩‍👩‍👧\n\tok", "Grüße, 世界 👩‍👩‍👧\n\tok"},
		{"colour", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		{"title", "\x1b]0;owned\x07after", "␛]0;owned␇after"},
		{"open string swallows nothing", "\x1b]52;c;the rest", "␛]52;c;the rest"},
		{"C1", "\u009b31mred", "\ufffd31mred"},
		{"C1 as a byte", "\x9b31mred", "\ufffd31mred"},
		{"bidi", "abc\u202edef\u2066g", "abc\ufffddef\ufffdg"},
		{"writing over", "✗ denied\r✓ allowed\b\b", "✗ denied✓ allowed␈␈"},
		{"line ends", "a\r\nb\r\n", "a\nb\n"},
		{"delete", "a\x7f", "a␡"},
		{"not UTF-8", "a\xff\xfeb\xe2\x80", "a\ufffd\ufffdb\ufffd\ufffd"},
	} {
		if got := sanitise(c.in); got != c.want {
			t.Errorf("%s: sanitised(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
		if got := (paint{}).safe(c.in); got != c.in {
			t.Errorf("%s: where there is no terminal %q became %q", c.name, c.in, got)
		}
	}
}

// JSON on a terminal is the same JSON, and acts on nothing.
func TestSafeJSON(t *testing.T) {
	const in = "{\n  \"a\": \"\u009b2J \u202eevil\x7f ü 世\"\n}\n"
	const want = "{\n  \"a\": \"\\u009b2J \\u202eevil\\u007f ü 世\"\n}\n"
	if got := (paint{tty: os.Stdout}).safeJSON(in); got != want {
		t.Errorf("safeJSON(%q) = %q, want %q", in, got, want)
	}
	if got := (paint{}).safeJSON(in); got != in {
		t.Errorf("where there is no terminal it is %q", got)
	}
}

// A cell ends where it ends, whatever is in it.
func TestACellForgesNoRow(t *testing.T) {
	var out bytes.Buffer
	if err := (&streams{out: &out}).table([][]string{{"AGENT", "ABOUT"}, {"bob", "evil\nroot\tSLEEPING\v\f\r."}}); err != nil {
		t.Fatal(err)
	}
	if want := "AGENT  ABOUT\nbob    evil root SLEEPING   .\n"; out.String() != want {
		t.Errorf("the table is %q, want %q", out.String(), want)
	}
}

// FuzzSafe: whatever a text is, nothing in it acts on the terminal.
func FuzzSafe(f *testing.F) {
	f.Add("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\")
	f.Add("é\u202e\x9b\r\n\xe2\x80\xae\xc2\x9b")
	f.Add("\xe2\x80")
	f.Fuzz(func(t *testing.T, text string) {
		got := sanitise(text)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		for _, r := range got {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || strings.ContainsRune("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", r) {
				t.Fatalf("%q lets %U through", got, r)
			}
		}
	})
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"one too many", 11, "one too ma…"},
		{"世界世界", 5, "世界…"},
		{"世界世界", 4, "世…"},
		{"x", 0, "…"},
		{"a\nb  c", 20, "a b c"},
	} {
		if got := (paint{}).line(c.in, c.width); got != c.want {
			t.Errorf("line(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}
