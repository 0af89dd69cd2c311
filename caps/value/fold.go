package value

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
