package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"usher/tools/form"
)

// Error is one fault of a configuration. [Load], [LoadFS] and [Parse] join all
// that they find.
type Error struct {
	File         string
	Line, Column int    // from 1; 0 where the fault is the file's as a whole
	Message      string // what is wrong and what to write
	Excerpt      string // the line and a caret below it; secrets are left out
	Err          error  // what the message is of, or nil
}

// Unwrap returns what the fault comes from.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	text := place{File: e.File, Line: e.Line, Column: e.Column}.String() + ": " + e.Message
	if e.Excerpt != "" {
		text += "\n" + e.Excerpt
	}
	return text
}

// place is where something stands. The zero place is unknown.
type place struct {
	File         string
	Line, Column int
	src          *source
}

func (p place) String() string {
	switch {
	case p.File == "":
		return "configuration"
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// source is the text of a file.
type source struct {
	name  string
	lines []string
}

func newSource(name, text string) *source {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return &source{name: name, lines: lines}
}

func (s *source) at(at form.Pos) place { return place{s.name, at.Line, at.Column, s} }

// excerpt shows the line of p below the one before it, and a caret.
func (p place) excerpt() string {
	if p.src == nil || p.Line < 1 || p.Line > len(p.src.lines) {
		return ""
	}
	var b strings.Builder
	width := len(fmt.Sprint(p.Line))
	show := func(n int) string {
		line := hideSecret(p.src.lines[n-1])
		fmt.Fprintf(&b, "  %*d | %s\n", width, n, clip(line))
		return line
	}
	// A deeper line before it may be the inside of a long text, a secret one even.
	if p.Line > 1 && depth(p.src.lines[p.Line-2]) <= depth(p.src.lines[p.Line-1]) {
		show(p.Line - 1)
	}
	line := show(p.Line)
	fmt.Fprintf(&b, "  %*s | %s^", width, "", indent(line, min(p.Column, maxShown)-1))
	return b.String()
}

// depth is how far a line is indented; a blank one counts as the deepest.
func depth(line string) int {
	if rest := strings.TrimLeft(line, " \t"); rest != "" {
		return len(line) - len(rest)
	}
	return math.MaxInt
}

// maxShown is how many characters of a line an excerpt shows.
const maxShown = 160

func clip(line string) string {
	if runes := []rune(line); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return line
}

// indent is as wide as the first n characters of line: a tab stays one.
func indent(line string, n int) string {
	var b strings.Builder
	for _, r := range line {
		if n--; n < 0 {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// secretField finds a setting whose name says that its value is secret.
var secretField = regexp.MustCompile(`(?i)((?:^|[\s{,\[])["']?[\w-]*(?:key|token|secret|password|credential)s?["']?\s*:\s*)("[^"]*"?|'[^']*'?|[^\s,}]+)`)

// tokenCount is a number of tokens, as models count them: no secret. Where the
// name says so itself, whatever was written for the number is none either.
var tokenCount = regexp.MustCompile(`(?i)(?:tokens["']?\s*:\s*-?[0-9.]+|max_(?:\w+_)?tokens?["']?\s*:.*)$`)

// hideSecret leaves out the values of such settings, references apart.
func hideSecret(line string) string {
	return secretField.ReplaceAllStringFunc(line, func(s string) string {
		m := secretField.FindStringSubmatch(s)
		if tokenCount.MatchString(s) || isReference(strings.Trim(m[2], `"'`)) {
			return s
		}
		return m[1] + "[redacted]"
	})
}

// isReference reports whether a setting says where its value is to be found,
// rather than the value.
func isReference(value string) bool {
	return strings.HasPrefix(value, "env:") || strings.HasPrefix(value, "file:") || strings.HasPrefix(value, "secret:")
}

// maxProblems is how many faults are reported at once.
const maxProblems = 20

// problems collects faults.
type problems struct {
	list []error
	more int
}

func (p *problems) add(at place, format string, args ...any) {
	if len(p.list) >= maxProblems {
		p.more++
		return
	}
	p.list = append(p.list, &Error{at.File, at.Line, at.Column, fmt.Sprintf(format, args...), at.excerpt(), nil})
}

func (p *problems) err() error {
	if p.more > 0 {
		return errors.Join(append(p.list, fmt.Errorf("and %d more errors", p.more))...)
	}
	return errors.Join(p.list...)
}
