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
type paint struct{ on bool }

func paintFor(w io.Writer) paint {
	f, ok := w.(*os.File)
	return paint{ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// interactive reports whether a person types the input.
func (s *streams) interactive() bool {
	f, ok := s.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
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
func (s *streams) printJSON(value any) error {
	enc := json.NewEncoder(s.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// table writes aligned rows; the cells carry no colour, which would count.
func (s *streams) table(rows [][]string) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// printLine writes a value as one line of JSON.
func (s *streams) printLine(value any) error {
	enc := json.NewEncoder(s.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}
