package value

import (
	"regexp"
	"sync"
)

// Form is a regular expression that is compiled when it is first asked for: a program
// pays at its start for none that it does not use.
func Form(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
