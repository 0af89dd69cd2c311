package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Bounds of one pattern. The time that matching takes is the product of its
// instructions and the length of the text.
const (
	maxPattern = 4 << 10 // bytes of its text
	maxProgram = 5000    // instructions
)

// pattern is a regular expression that knows what it costs.
type pattern struct {
	*regexp.Regexp
	program int // instructions
}

// compilePattern compiles a pattern after pay was asked for the bytes that it
// takes.
func compilePattern(text string, pay func(bytes int) error) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("pattern of %d bytes is longer than %d: make it shorter", len(text), maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%w: patterns are RE2, which has no look-around and no back-references", err)
	}
	program, runes := size(parsed)
	const instruction, char = 40, 4 // bytes
	if err := pay(program*instruction + runes*char); err != nil {
		return nil, err
	}
	if program > maxProgram {
		return nil, fmt.Errorf("pattern is too large (%d instructions, %d is the most): repeat less", program, maxProgram)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{re, program}, nil
}

// size counts at least the instructions that an expression compiles to, without
// writing its repetitions out, and the characters of its classes and texts.
func size(re *syntax.Regexp) (program, runes int) {
	program, runes = max(1, len(re.Sub)), len(re.Rune)
	if re.Op == syntax.OpLiteral {
		program = len(re.Rune)
	}
	for _, sub := range re.Sub {
		p, r := size(sub)
		program, runes = program+p, runes+r
	}
	if re.Op == syntax.OpRepeat {
		program *= max(re.Min+1, re.Max)
	}
	return min(program, 1<<40), runes
}

// cost is the checks that matching a text counts as.
func (p *pattern) cost(text string) int { return 1 + len(text)*p.program/64 }
