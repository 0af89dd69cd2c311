package cli

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
)

// Page is what a demonstration prints on. Texts act on no terminal and forge no
// line, whoever wrote them: only what [Page.Good] and its like return has colour.
type Page struct {
	w     io.Writer
	paint paint
	began bool
	err   error
}

// Markup is a text of a page, in its colour.
type Markup string

// NewPage returns a page that is written to w, in colour or without.
func NewPage(w io.Writer, colour bool) *Page { return &Page{w: w, paint: paint{on: colour}} }

// Good is for what was allowed or passed.
func (p *Page) Good(s string) Markup { return Markup(p.paint.good(plain(s))) }

// Bad is for what was refused or failed.
func (p *Page) Bad(s string) Markup { return Markup(p.paint.bad(plain(s))) }

// Warn is for what a person decides.
func (p *Page) Warn(s string) Markup { return Markup(p.paint.warn(plain(s))) }

// Dim is for what explains.
func (p *Page) Dim(s string) Markup { return Markup(p.paint.dim(plain(s))) }

// Head begins a section.
func (p *Page) Head(title string) {
	if p.began {
		p.print("\n")
	}
	p.print(p.paint.bold(plain(title)) + "\n")
}

// Line prints texts as one line.
func (p *Page) Line(texts ...any) { p.print(joinTexts(texts) + "\n") }

// Table prints rows in columns, below each other.
func (p *Page) Table(rows [][]any) {
	text := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			text[i] = append(text[i], joinTexts([]any{cell}))
		}
	}
	p.print(align(text))
}

// json prints a value as one readable document.
func (p *Page) json(v any) error {
	text, err := document(v)
	if err != nil {
		return err
	}
	p.print(text)
	return p.err
}

// Err is the first error of writing the page.
func (p *Page) Err() error { return p.err }

func (p *Page) print(text string) {
	p.began = true
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

func joinTexts(texts []any) string {
	var b strings.Builder
	for _, text := range texts {
		if s, ok := text.(Markup); ok {
			b.WriteString(string(s))
			continue
		}
		b.WriteString(plain(fmt.Sprint(text)))
	}
	return b.String()
}

// inCell keeps what ends a cell or a row out of one.
var inCell = strings.NewReplacer("\n", " ", "\t", " ", "\v", " ", "\f", " ", "\r", " ")

// plain is a text on one line that acts on no terminal, of a bearable length.
func plain(s string) string {
	const most = 4000
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " …"
	}
	return sanitise(inCell.Replace(s))
}

// align returns rows in columns. Colours have no width.
func align(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 {
				widths[i] = max(widths[i], lipgloss.Width(cell))
			}
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", max(0, widths[i]-lipgloss.Width(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
