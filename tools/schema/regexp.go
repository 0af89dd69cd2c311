package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxProgram bounds a compiled pattern: its matching time is the product of
// this and the length of the text.
const maxProgram = 5000

// pattern is a regular expression that knows what it costs.
type pattern struct {
	*regexp.Regexp
	program int // instructions
}

func boundedRegexp(text string) (jsonschema.Regexp, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%w: patterns are RE2, which has no look-around and no back-references", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxProgram {
		return nil, fmt.Errorf("pattern is too large (%d instructions, %d is the most): repeat less", len(program.Inst), maxProgram)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return pattern{re, len(program.Inst)}, nil
}

// matchCost is the steps that matching text takes, in units of 64 instructions.
func matchCost(re jsonschema.Regexp, text string) int {
	p, ok := re.(pattern)
	if !ok {
		return 1
	}
	return 1 + len(text)*p.program/64
}
