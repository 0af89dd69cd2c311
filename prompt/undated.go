package prompt

import (
	"regexp"
	"strings"
)

// dated is the section that [setting] writes, when it begins with a date, or
// with what [Undated] makes of one.
var dated = regexp.MustCompile(`^Current date: (?:\d{4}-\d{2}-\d{2}|any day)\.((?: Venue: .*\.)?(?: Model: .*\.)?)$`)

// Undated returns a message of [System] with its date taken out, so that it can
// be compared with that of another day. Only the sentence that System wrote
// changes, never one like it in the identity before it or in the context after
// it. Any other text is returned as it is.
func Undated(system string) string {
	sections := strings.Split(system, "\n\n")
	own := -1
	for i, s := range sections {
		if strings.HasPrefix(s, "[Context: ") {
			break
		}
		if dated.MatchString(s) {
			own = i // the last one: what stands before it is the identity's
		}
	}
	if own < 0 {
		return system
	}
	sections[own] = dated.ReplaceAllString(sections[own], "Current date: any day.$1")
	return strings.Join(sections, "\n\n")
}
