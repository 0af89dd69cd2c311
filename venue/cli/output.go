package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"
)

// paint colours text where it goes to a terminal.
type paint struct {
	on  bool     // in colour
	tty *os.File // the terminal; nil is a file or a pipe
}

func paintFor(w io.Writer) paint {
	tty := terminal(w)
	return paint{tty != nil && os.Getenv("NO_COLOR") == "" && !dumb(), tty}
}

// terminal returns stream as a file if it is a terminal, and nil otherwise.
func terminal(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// interactive reports whether a person types the input.
func (s *streams) interactive() bool { return terminal(s.in) != nil }

// dumb reports whether the terminal cannot move its cursor.
func dumb() bool { return os.Getenv("TERM") == "dumb" }

// live reports whether what is written can be written over.
func (p paint) live() bool { return p.tty != nil && !dumb() }

// width is how many columns there are; wide enough where nobody knows.
func (p paint) width() int {
	if p.tty != nil {
		if width, _, err := term.GetSize(int(p.tty.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 100
}

func (p paint) with(s string, style lipgloss.Style) string {
	if !p.on {
		return s
	}
	return style.Render(s)
}

func (p paint) good(s string) string {
	return p.with(s, lipgloss.NewStyle().Foreground(lipgloss.Green))
}

func (p paint) bad(s string) string { return p.with(s, lipgloss.NewStyle().Foreground(lipgloss.Red)) }

func (p paint) warn(s string) string {
	return p.with(s, lipgloss.NewStyle().Foreground(lipgloss.Yellow))
}
func (p paint) dim(s string) string  { return p.with(s, lipgloss.NewStyle().Faint(true)) }
func (p paint) bold(s string) string { return p.with(s, lipgloss.NewStyle().Bold(true)) }

// printJSON writes a value as one readable JSON document.
func (s *streams) printJSON(value any) error { return s.encode(value, "  ") }

// printLine writes a value as one line of JSON.
func (s *streams) printLine(value any) error { return s.encode(value, "") }

func (s *streams) encode(value any, indent string) error {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	_, err := io.WriteString(s.out, s.paint.safeJSON(text.String()))
	return err
}

// inCell keeps what ends a cell or a row out of one.
var inCell = strings.NewReplacer("\n", " ", "\t", " ", "\v", " ", "\f", " ", "\r", " ")

// table writes aligned rows; the cells carry no colour, which would count.
func (s *streams) table(rows [][]string) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = inCell.Replace(cell)
		}
		if _, err := fmt.Fprintln(w, s.paint.safe(strings.Join(cells, "\t"))); err != nil {
			return err
		}
	}
	return w.Flush()
}
