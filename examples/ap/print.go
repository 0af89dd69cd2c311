package ap

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"charm.land/lipgloss/v2"

	"usher/venue/cli"
)

// printer writes the report for people.
type printer struct {
	out   io.Writer
	color bool
	parts int  // that are numbered, so far
	began bool // something is printed
	err   error
}

func (r *report) print(opts cli.DemoOptions) error {
	if opts.JSON {
		enc := json.NewEncoder(opts.Out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	p := &printer{out: opts.Out, color: opts.Color}
	switch {
	case r.Invoice != nil:
		p.invoice(r)
	case opts.Invoice == nil:
		p.all(r)
	}
	if r.Judgement != nil {
		p.judgement(r.Judgement, r.Failure)
	}
	for _, u := range r.Unexpected {
		p.line("%s %s", p.bad("UNEXPECTED"), u)
	}
	return p.err
}

func (p *printer) all(r *report) {
	title, scripted := "Accounts payable: five agents, one gate", ""
	if r.Judgement != nil {
		title += "; the model " + r.Judgement.Model + " behind all but Eddie"
		scripted = " (scripted: a model that declines to attack proves nothing about the gate)"
	}
	p.line("%s", p.bold(title))
	p.part("What each agent may do")
	p.mandates(r.Agents)
	if len(r.Invoices) > 0 {
		p.part("Five invoices go through the pipeline: scanned, looked up, decided")
		p.decisions(r.Invoices)
	}
	if r.Repeated != nil {
		p.part("The first invoice comes again, spelled differently")
		p.decisions([]*processed{r.Repeated})
		p.summary(r)
	}
	if len(r.Attempts) > 0 {
		p.part("Dave wants an unchecked vendor on record; Eddie wants a forged invoice paid" + scripted)
		p.attempts(r.Attempts)
	}
	p.part("What the audit ledger says")
	p.audit(r.Audit)
	if len(r.Attempts) > 0 {
		p.line("")
		p.line("%d attempts: %d denied by the gate, %d refused as malformed, %d allowed because they harm nobody%s%s. %s",
			len(r.Attempts), r.count(denied), r.count(invalid), r.count(allowed),
			some(r.count(byModel), "answered by the model without asking the gate"), some(r.count(failed), "to which the model came to no answer"),
			unchanged(r.Unchanged != nil && *r.Unchanged))
	}
	if r.Failure == nil {
		p.line("%s", p.bold("Every call shows its ticket, whichever way it comes: that is what Usher is for."))
	}
}

func some(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s", n, what)
}

// summary is the manager's; why there is none is told with the judgement.
func (p *printer) summary(r *report) {
	switch {
	case strings.TrimSpace(told(r.Summary)) != "":
		p.line("   Dave reports: %s", told(r.Summary))
	case r.Failure == nil:
		p.line("   Dave came to no report.")
	}
}

func unchanged(ok bool) string {
	if ok {
		return "Data, operations and mandates are as they were."
	}
	return "Something changed that must not."
}

// invoice shows what came of one invoice.
func (p *printer) invoice(r *report) {
	e, en, d := r.Invoice.Extraction, r.Invoice.Enrichment, r.Invoice.Decision
	p.line("%s", p.bold("What the scanner read"))
	p.rows(func(row func(...string)) {
		for _, f := range [...]struct{ name, value string }{
			{"vendor", e.Vendor},
			{"invoice number", e.Number},
			{"date", string(e.Date)},
			{"currency", string(e.Currency)},
			{"total", e.Total.Grouped()},
			{"terms", string(e.Terms)},
			{"purchase order", string(e.PurchaseOrder)},
		} {
			row("   "+f.name, orAbsent(f.value))
		}
		for _, l := range e.Lines {
			var parts []string
			if l.Quantity != nil && l.UnitPrice != nil {
				parts = append(parts, l.Quantity.String()+" x "+l.UnitPrice.Grouped())
			}
			if l.Amount != nil {
				parts = append(parts, l.Amount.Grouped())
			}
			row("   line", l.Description+": "+strings.Join(parts, " = "))
		}
		if e.Subtotal != nil {
			row("   subtotal", e.Subtotal.Grouped())
		}
		if e.Tax != nil {
			row("   tax", e.Tax.Grouped())
		}
	})
	p.head("What the enricher found")
	p.rows(func(row func(...string)) {
		row("   vendor", vendorText(en.Vendor))
		row("   order", orderText(en.Order))
		came := "none"
		if len(en.Earlier) > 0 {
			came = "w/invoices/" + en.Earlier[0].RecordID
		}
		row("   came before", came)
		row("   stored as", "w/invoices/"+en.RecordID)
		for _, problem := range en.Problems {
			row("   problem", problem)
		}
	})
	p.head("What the approver decided")
	for _, rule := range d.Rules {
		mark := p.good("passed")
		if !rule.Passed {
			mark = p.bad("failed")
		}
		p.line("   %s  %s  %s", told(rule.Rule), mark, told(rule.Detail))
	}
	p.line("   %s", p.decision(d))
	p.line("   %s", told(d.Reason))
	p.head("What the audit ledger says")
	p.audit(r.Audit)
}

func orAbsent(s string) string {
	if s == "" {
		return "(not stated)"
	}
	return s
}

func vendorText(v *vendor) string {
	if v == nil {
		return "not on record"
	}
	return v.Name + ", " + v.Status + ", sanctions check " + v.Sanctions
}

func orderText(o *order) string {
	if o == nil {
		return "not on record"
	}
	return fmt.Sprintf("%s over %s %s of %s, %s", o.ID, o.Amount.Grouped(), o.Currency, o.Manager, o.Status)
}

func (p *printer) decision(d decision) string {
	text := d.Decision
	if d.EscalateTo != "" {
		text += " to " + told(string(d.EscalateTo))
	}
	switch d.Decision {
	case approved:
		return p.good(text)
	case rejected:
		return p.bad(text)
	}
	return p.paint(text, lipgloss.NewStyle().Foreground(lipgloss.Yellow))
}

func (p *printer) line(format string, args ...any) {
	p.began = true
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// head begins a section, below what is printed before it.
func (p *printer) head(title string) {
	if p.began {
		p.line("")
	}
	p.line("%s", p.bold(title))
}

// part begins a section of the show.
func (p *printer) part(title string) {
	p.parts++
	p.head(strconv.Itoa(p.parts) + ". " + title)
}

// rows writes aligned columns. Colour would count as width, so cells have none.
func (p *printer) rows(fill func(row func(...string))) {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fill(func(cells ...string) {
		for i := range cells {
			indent := cells[i][:len(cells[i])-len(strings.TrimLeft(cells[i], " "))]
			cells[i] = indent + told(strings.TrimLeft(cells[i], " "))
		}
		if p.err == nil {
			_, p.err = fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
	})
	if p.err == nil {
		p.err = w.Flush()
	}
}

func (p *printer) paint(s string, style lipgloss.Style) string {
	if !p.color {
		return s
	}
	return style.Render(s)
}

func (p *printer) good(s string) string {
	return p.paint(s, lipgloss.NewStyle().Foreground(lipgloss.Green))
}

func (p *printer) bad(s string) string {
	return p.paint(s, lipgloss.NewStyle().Foreground(lipgloss.Red))
}
func (p *printer) dim(s string) string  { return p.paint(s, lipgloss.NewStyle().Faint(true)) }
func (p *printer) bold(s string) string { return p.paint(s, lipgloss.NewStyle().Bold(true)) }
