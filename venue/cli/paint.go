package cli

import (
	"image/color"
	"os"

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
