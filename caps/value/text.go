package value

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut returns text, or the beginning of it with an ellipsis where it is longer
// than most bytes, in whole characters.
func Cut(text string, most int) string {
	const ellipsis = "…"
	if len(text) <= most {
		return text
	}
	end := max(0, most-len(ellipsis))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// Quote writes a text into a message: in quotes, with escapes instead of what
// moves a cursor, and cut where it is long.
func Quote(text string) string {
	const most = 96
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return strconv.Quote(strings.TrimSuffix(Cut(text, most), "…")) + "…"
}

// Show writes a Go value into a message: as JSON, cut where it is long.
func Show(v any) string {
	const most = 64
	raw, err := Encode(v)
	if err != nil {
		return A(v)
	}
	return Cut(string(raw), most)
}

// Fold returns the same text for all that [strings.EqualFold] takes to be equal:
// encoding/json reads two such keys into the same field.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		if r >= utf8.RuneSelf {
			for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
				least = min(least, other)
			}
		}
		if least < utf8.RuneSelf {
			return unicode.ToLower(least)
		}
		return least
	}, s)
}

// Redacted stands wherever a secret would.
const Redacted = "[redacted]"

// Hide returns what puts [Redacted] into the place of each of some texts, as it
// is and as JSON spells it. The longest go first: one may be a part of another.
func Hide(texts ...string) func(string) string {
	var spellings, pairs []string
	for _, text := range texts {
		if text != "" {
			escaped, _ := json.Marshal(text) // a string cannot fail to encode
			ours := AppendString(nil, text)
			spellings = append(spellings, text, string(escaped[1:len(escaped)-1]), string(ours[1:len(ours)-1]))
		}
	}
	slices.SortStableFunc(spellings, func(a, b string) int { return len(b) - len(a) })
	for _, s := range spellings {
		pairs = append(pairs, s, Redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}
