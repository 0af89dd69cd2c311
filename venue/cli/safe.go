package cli

import (
	"fmt"
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
)

// visible shows a character that would act on a terminal. Carriage returns go: in
// "\r\n" nobody misses them, and alone they would write over the line.
func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r':
		return -1
	case r < ' ':
		return '␀' + r
	case r == 0x7f:
		return '␡'
	case unicode.IsControl(r), // C1
		r >= 0x202a && r <= 0x202e, // bidi embeddings and overrides
		r >= 0x2066 && r <= 0x2069, // bidi isolates
		r == 0x2028, r == 0x2029:   // line and paragraph separators
		return unicode.ReplacementChar
	}
	return r
}

func sanitise(s string) string { return strings.Map(visible, s) }

// safe returns text that is not ours as a terminal may show it, and unchanged
// where it does not go to one.
func (p paint) safe(s string) string {
	if p.tty == nil {
		return s
	}
	return sanitise(s)
}

// safeJSON is [paint.safe] for JSON, which stays the JSON that it is.
func (p paint) safeJSON(s string) string {
	if p.tty == nil {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if visible(r) != r {
			fmt.Fprintf(&b, `\u%04x`, r) // such a character stands in a string only
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// line returns text that is not ours as one line of at most width columns.
func (p paint) line(s string, width int) string {
	s = s[:min(len(s), 16*max(width, 1))] // spares the work on what is cut anyway
	return cut(p.safe(strings.Join(strings.Fields(s), " ")), width)
}

// cut returns the beginning of a line that fits width columns, with a mark
// where something is missing.
func cut(s string, width int) string {
	if lipgloss.Width(s) <= width {
		return s
	}
	used := 1 // the mark
	for i, r := range s {
		if used += lipgloss.Width(string(r)); used > width {
			return s[:i] + "…"
		}
	}
	return s
}
