package value

import (
	"strconv"
	"strings"
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
