package config

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"

	"usher/caps/value"
	"usher/tools/form"
)

// source is the text of a file.
type source struct {
	name  string
	lines []string
}

func newSource(name, text string) *source {
	return &source{name, strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
}

func (s *source) at(at form.Pos) place { return place{s, at} }

// split is a line before and after a column.
func (s *source) split(line, column int) (before, after string) {
	if line < 1 || line > len(s.lines) {
		return "", ""
	}
	text := []rune(s.lines[line-1])
	column = min(len(text), max(column-1, 0))
	return string(text[:column]), string(text[column:])
}

func (s *source) fault(at form.Pos, format string, args ...any) *Finding {
	return s.at(at).fault(format, args...)
}

// maxShown is how many characters of a line an excerpt shows.
const maxShown = 160

// excerpt shows the line of p below the one before it, and a caret.
func (p place) excerpt() string {
	if p.src == nil || p.Line < 1 || p.Line > len(p.src.lines) {
		return ""
	}
	var b strings.Builder
	width := len(fmt.Sprint(p.Line))
	show := func(n int) []rune {
		line, more := []rune(hideSecret(p.src.lines[n-1])), ""
		if len(line) > maxShown {
			line, more = line[:maxShown], "…"
		}
		fmt.Fprintf(&b, "  %*d | %s%s\n", width, n, string(line), more)
		return line
	}
	// A deeper line before it may be the inside of a long text, a secret one even.
	if p.Line > 1 && depth(p.src.lines[p.Line-2]) <= depth(p.src.lines[p.Line-1]) {
		show(p.Line - 1)
	}
	before := show(p.Line)
	before = before[:min(len(before), max(p.Column-1, 0))]
	for i, r := range before {
		if r != '\t' { // which is as wide below
			before[i] = ' '
		}
	}
	fmt.Fprintf(&b, "  %*s | %s^", width, "", string(before))
	return b.String()
}

// depth is how far a line is indented; a blank one counts as the deepest.
func depth(line string) int {
	if rest := strings.TrimLeft(line, " \t"); rest != "" {
		return len(line) - len(rest)
	}
	return math.MaxInt
}

// secretField finds a setting whose name says that its value is secret.
var secretField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)((?:^|[\s{,\[])["']?[\w-]*(?:key|token|secret|password|credential)s?["']?\s*:\s*)("[^"]*"?|'[^']*'?|[^\s,}]+)`)
})

// tokenCount is a number of tokens, as models count them: no secret. Where the
// name says so itself, whatever was written for the number is none either.
var tokenCount = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:tokens["']?\s*:\s*-?[0-9.]+|max_(?:\w+_)?tokens?["']?\s*:.*)$`)
})

// urlUser is who a URL says to be.
var urlUser = value.Form(`://[^/\s"'@]+@`)

// hideSecret leaves out the values of such settings, references apart, and who a URL says to be.
func hideSecret(line string) string {
	line = urlUser().ReplaceAllString(line, "://"+value.Redacted+"@")
	return secretField().ReplaceAllStringFunc(line, func(s string) string {
		m := secretField().FindStringSubmatch(s)
		if tokenCount().MatchString(s) || isReference(strings.Trim(m[2], `"'`)) {
			return s
		}
		return m[1] + value.Redacted
	})
}

// isReference reports whether a setting says where its value is to be found,
// rather than the value.
func isReference(value string) bool {
	return strings.HasPrefix(value, "env:") || strings.HasPrefix(value, "file:") || strings.HasPrefix(value, "secret:")
}
