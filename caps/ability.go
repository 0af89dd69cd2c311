package caps

import (
	"fmt"
	"strings"

	"usher/caps/value"
)

// Bounds of an [Ability].
const (
	maxAbilityBytes    = 128
	maxAbilitySegments = 8
)

// anyAbility covers every ability (COG-13, "Ability Hierarchy").
const anyAbility Ability = "*"

// Ability is a canonical permission: "*", or one to eight lower-case segments
// of [a-z0-9_-] joined by "/", 128 bytes at most. The zero value covers nothing
// and is covered by nothing.
type Ability string

// ParseAbility returns the canonical ability that s spells. Its errors name the
// spelling to use instead; nothing is corrected silently.
func ParseAbility(s string) (Ability, error) {
	if s == "" {
		return "", fmt.Errorf(`ability "" is empty: write a name such as "crud/read", or "*" for every ability`)
	}
	if len(s) > maxAbilityBytes {
		return "", fmt.Errorf("ability %s is %d bytes long: use at most %d", value.Quote(s), len(s), maxAbilityBytes)
	}
	if s == string(anyAbility) {
		return anyAbility, nil
	}
	segments, bad := abilitySegments(s)
	switch {
	case bad >= 0:
		return "", abilityError(s, bad)
	case segments > maxAbilitySegments:
		return "", fmt.Errorf("ability %s has %d segments: use at most %d", value.Quote(s), segments, maxAbilitySegments)
	}
	return Ability(s), nil
}

// abilitySegments counts the segments of s. bad is the first byte that no ability
// but "*" has there, len(s) where something is missing at the end, or -1.
func abilitySegments(s string) (segments, bad int) {
	start := 0 // of the segment
	for i := range len(s) {
		switch c := rune(s[i]); {
		case isLower(c), isDigit(c), c == '_', c == '-':
		case c == '/' && i > start:
			segments, start = segments+1, i+1
		default:
			return 0, i
		}
	}
	if start == len(s) {
		return 0, start
	}
	return segments + 1, -1
}

// abilityError says what is wrong at byte i of s and, where it can be guessed,
// what was meant.
func abilityError(s string, i int) error {
	what := "only lower-case a-z, 0-9, _ and - are allowed in a segment"
	switch {
	case i == len(s) || s[i] == '/':
		what = "an empty segment"
	case s[i] == '*':
		what = `"*" stands alone, and an ability already covers everything below it`
	case s[i] >= 'A' && s[i] <= 'Z':
		what = "abilities are lower case"
	}
	guess := strings.Trim(strings.ToLower(s), "/* \t")
	if guess == "" {
		guess = string(anyAbility)
	} else if _, bad := abilitySegments(guess); bad >= 0 {
		guess = "crud/read" // nothing near: an example
	}
	return fmt.Errorf("ability %s is malformed at byte %d (%s): write e.g. %q", value.Quote(s), i, what, guess)
}

// Covers reports whether a grants b: a is "*", equal to b, or made of b's first
// segments.
func (a Ability) Covers(b Ability) bool {
	if a == anyAbility {
		return b != ""
	}
	return a != "" && coversText(string(a), string(b))
}

// coversText reports whether prefix is text or a run of its leading segments.
func coversText(prefix, text string) bool {
	if len(prefix) == len(text) {
		return prefix == text
	}
	return len(prefix) < len(text) && text[len(prefix)] == '/' && text[:len(prefix)] == prefix
}
