package value

import (
	"encoding/json"
	"slices"
	"strings"
)

// Redacted stands wherever a secret would.
const Redacted = "[redacted]"

// Hide returns what puts [Redacted] into the place of each of some texts, as it
// is and as JSON spells it. The longest go first: one may be a part of another.
func Hide(texts ...string) func(string) string {
	var spellings, pairs []string
	for _, text := range texts {
		if text != "" {
			escaped, _ := json.Marshal(text) // a string cannot fail to encode
			spellings = append(spellings, text, strings.Trim(string(escaped), `"`), strings.Trim(string(AppendString(nil, text)), `"`))
		}
	}
	slices.SortStableFunc(spellings, func(a, b string) int { return len(b) - len(a) })
	for _, s := range spellings {
		pairs = append(pairs, s, Redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}
