package cli

import (
	"fmt"
	"image/color"
	"os"
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"
)

// paint colours text where it goes to a terminal.
type paint struct {
	on   bool     // in colour
	tty  *os.File // the terminal; nil is a file or a pipe
	dumb bool     // it cannot move its cursor
}

func (p place) paintFor(w any) paint {
	tty, dumb := terminal(w), p.getenv("TERM") == "dumb"
	return paint{tty != nil && p.getenv("NO_COLOR") == "" && !dumb, tty, dumb}
}

// terminal returns stream as a file if it is a terminal, and nil otherwise.
func terminal(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// live reports whether what is written can be written over.
func (p paint) live() bool { return p.tty != nil && !p.dumb }

// width is how many columns there are; wide enough where nobody knows.
func (p paint) width() int {
	if p.tty != nil {
		if width, _, err := term.GetSize(int(p.tty.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 100
}

func (p paint) style(s string, style lipgloss.Style) string {
	if !p.on || s == "" {
		return s
	}
	return style.Render(s)
}

func (p paint) colour(s string, c color.Color) string {
	return p.style(s, lipgloss.NewStyle().Foreground(c))
}

func (p paint) good(s string) string { return p.colour(s, lipgloss.Green) }
func (p paint) bad(s string) string  { return p.colour(s, lipgloss.Red) }
func (p paint) warn(s string) string { return p.colour(s, lipgloss.Yellow) }
func (p paint) dim(s string) string  { return p.style(s, lipgloss.NewStyle().Faint(true)) }
func (p paint) bold(s string) string { return p.style(s, lipgloss.NewStyle().Bold(true)) }

// What models, tools and agents write is not to be trusted with a terminal: an
// escape sequence can forge a line of ours, set the clipboard or hide a text,
// and a bidi override shows it in another order than it has. No sequence is
// parsed here, since what looks for the end of one can be made to swallow the
// rest: each character that begins or makes one is shown as itself.

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

func sanitised(s string) string { return strings.Map(visible, s) }

// safe returns text that is not ours as a terminal may show it, and unchanged
// where it does not go to one.
func (p paint) safe(s string) string {
	if p.tty == nil {
		return s
	}
	return sanitised(s)
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
