package wrap

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A secret is found however a server's JSON spells it.
func TestScrubFindsEscapes(t *testing.T) {
	const secret = `sk_ab/cd+ef=="é`
	s := newScrubber([]string{secret})
	for name, said := range map[string]string{
		"slash":                  `bad key sk_ab\/cd+ef==\"é!`,
		"units":                  `bad key sk_ab/cd\u002bef\u003d\u003D\u0022\u00E9!`,
		"a text within a text":   `bad key sk_ab\\\/cd\\u002bef\\u003d=\\\"é!`,
		"as a cassette wrote it": `bad key sk_ab\\/cd\\u002bef==\\"é!`,
	} {
		if got := s.scrub(said); got != "bad key [redacted]!" {
			t.Errorf("%s: %s is %s", name, said, got)
		}
	}
	for _, text := range []string{`C:\users\/sk_ab`, `\u00`, `\`, `a\\nb`} {
		if got := s.scrub(text); got != text {
			t.Errorf("%s is %s", text, got)
		}
	}
}

// Whichever of its characters are escaped, and however often, it is found; and
// what stands around it stays.
func TestScrubEscapesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z+/=<"é]{6,12}`).Draw(t, "secret")
		around := rapid.StringMatching(`[A-Z ]{0,4}`)
		var spelled strings.Builder
		for _, r := range secret {
			if rapid.Bool().Draw(t, "escape") {
				fmt.Fprintf(&spelled, `\u%04x`, r)
			} else {
				spelled.WriteRune(r)
			}
		}
		said := spelled.String()
		for range rapid.IntRange(0, 2).Draw(t, "depth") {
			raw, err := json.Marshal(said)
			if err != nil {
				t.Fatal(err)
			}
			said = string(raw[1 : len(raw)-1])
		}
		before, after := around.Draw(t, "before"), around.Draw(t, "after")
		if got, want := newScrubber([]string{secret}).scrub(before+said+after), before+redacted+after; got != want {
			t.Fatalf("%s is %q, want %q", said, got, want)
		}
	})
}
