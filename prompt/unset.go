package prompt

import (
	"regexp"
	"strings"
)

// unset stands where [Unset] took the facts of [setting] out.
const unset = "Any date, venue and model."

// factual is the section that [setting] writes, when it begins with a date, or
// what [Unset] makes of it.
var factual = regexp.MustCompile(`^(?:Current date: \d{4}-\d{2}-\d{2}\.(?: Venue: .*\.)?(?: Model: .*\.)?|` + regexp.QuoteMeta(unset) + `)$`)

// Unset returns a message of [System] without its date and the names of the
// venue and of the model, so that it can be compared with that of another day
// or place. Only the sentences that System wrote change, never ones like them
// in the identity before or in the context after. Any other text is returned
// as it is.
func Unset(system string) string {
	sections := strings.Split(system, "\n\n")
	own := -1
	for i, s := range sections {
		if strings.HasPrefix(s, "[Context: ") {
			break
		}
		if factual.MatchString(s) {
			own = i // the last one: what stands before it is the identity's
		}
	}
	if own < 0 {
		return system
	}
	sections[own] = unset
	return strings.Join(sections, "\n\n")
}
