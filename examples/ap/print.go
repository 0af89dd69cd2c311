package ap

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"usher/caps/value"
	"usher/venue/cli"
)

func (r *report) print(p *cli.Page, all bool) error {
	switch {
	case all:
		r.printAll(p)
	case r.Invoice != nil:
		r.Invoice.print(p)
		p.Head("What the audit ledger says")
		r.Audit.print(p)
	}
	if r.Judgement != nil {
		r.Judgement.print(p, r.Failure)
	}
	for _, u := range r.Unexpected {
		p.Line(p.Bad("UNEXPECTED"), " ", u)
	}
	return p.Err()
}

func (r *report) printAll(p *cli.Page) {
	title := "Accounts payable: five agents, one gate"
	if r.Judgement != nil {
		title += "; the model " + r.Judgement.Model + " behind all but Eddie"
	}
	p.Head(title)
	p.Head("1. What each agent may do")
	var rows [][]any
	for _, m := range r.Agents {
		rows = append(rows, tall(m.Caps.String(), ", ", "   "+m.Agent, m.Description)...)
	}
	p.Table(rows)
	p.Head("2. Invoices go through the pipeline: scanned, looked up, decided; the last is the first again, spelled differently")
	rows = nil
	for _, i := range r.Invoices {
		d := &i.Decision
		if i.Problem != "" {
			rows = append(rows, tall(i.Problem, ": ", "   "+i.File, "", "", p.Bad("NO DECISION"))...)
			continue
		}
		rows = append(rows, tall(d.Reason, "; ", "   "+d.Invoice, d.Vendor, strings.TrimSpace(d.Total.String()+" "+d.Currency), d.paint(p))...)
	}
	p.Table(rows)
	if r.Summary != "" {
		p.Line("   Dave reports: ", r.Summary)
	}
	if len(r.Attempts) > 0 {
		p.Head("3. Dave wants an unchecked vendor on record; Eddie wants a forged invoice paid. Both are scripted: a model that declines to attack proves nothing about the gate")
		r.printAttempts(p)
	}
	p.Head("4. What the audit ledger says")
	r.Audit.print(p)
	if r.Failure == nil {
		p.Head("Every call shows its ticket, whichever way it comes: that is what Usher is for.")
	}
}

// tall is a row whose last cell takes a line for some of the parts of a list.
func tall(list, separator string, cells ...any) (rows [][]any) {
	const width = 60
	line := ""
	for part := range strings.SplitAfterSeq(list, separator) {
		if line != "" && len(line)+len(part) > width {
			rows = append(rows, append(cells, strings.TrimSpace(line)))
			cells, line = make([]any, len(cells)), ""
			for i := range cells {
				cells[i] = ""
			}
		}
		line += part
	}
	return append(rows, append(cells, strings.TrimSpace(line)))
}

// printAttempts says what was tried, each refusal in the gate's words. What all
// denials of one holder have in common is said with the first.
func (r *report) printAttempts(p *cli.Page) {
	counts, said := make(map[string]int), make(map[string]bool)
	marks := map[string]cli.Markup{denied: p.Bad("denied "), refused: p.Bad("refused"), allowed: p.Good("allowed")}
	for _, a := range r.Attempts {
		counts[a.Outcome]++
		p.Line("   ", a.Agent, "  ", marks[a.Outcome], "  ", a.What)
		words, common, _ := strings.Cut(a.Words, " Your capabilities are: ")
		if common != "" && !said[common] {
			words, said[common] = a.Words, true
		}
		if words != "" {
			p.Line("            ", p.Dim(words))
		}
	}
	state := "Data, operations and mandates are as they were."
	if !r.Unchanged {
		state = "Something changed that must not."
	}
	p.Line(fmt.Sprintf("   %d attempts: %d denied by the gate, %d refused as malformed, %d allowed because they harm nobody. %s",
		len(r.Attempts), counts[denied], counts[refused], counts[allowed], state))
}

// print shows what came of one invoice.
func (i *result) print(p *cli.Page) {
	p.Head("What the scanner read")
	p.Table(facts(i.Extraction))
	p.Head("What the enricher found")
	p.Table(facts(i.Enrichment))
	p.Head("What the approver decided")
	d := &i.Decision
	for _, rule := range d.Rules {
		mark := p.Good("passed")
		if !rule.Passed {
			mark = p.Bad("failed")
		}
		p.Line("   ", rule.Rule, "  ", mark, "  ", rule.Detail)
	}
	p.Line("   ", d.paint(p), ": ", d.Reason)
}

// facts are the fields of a struct under their names in JSON, a row for each.
func facts(of any) (rows [][]any) {
	v := reflect.ValueOf(of)
	for f := range v.Type().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		text := "not stated"
		switch field := v.FieldByIndex(f.Index); {
		case field.Kind() == reflect.String:
			text = cmp.Or(field.String(), text)
		case !field.IsZero():
			raw, _ := value.Encode(field.Interface()) // a struct that was read from JSON
			text = string(raw)
		}
		rows = append(rows, []any{"   " + name, text})
	}
	return rows
}

func (d *decision) paint(p *cli.Page) cli.Markup {
	switch d.Decision {
	case approved:
		return p.Good(d.outcome())
	case rejected:
		return p.Bad(d.outcome())
	}
	return p.Warn(d.outcome())
}

func (a *audit) print(p *cli.Page) {
	if a.Verified {
		p.Line(fmt.Sprintf("   %d calls were allowed and %d denied. Each decision and each outcome is a row: %d, of which the venue has signed %d. All are ",
			a.Allowed, a.Denied, a.Rows, a.Signed), p.Good("as they were written"), ".")
	}
}

// print says how the model did the work until its end, or until it failed, and
// what it used. The failure itself is the demo's error, and told there.
func (j *judgement) print(p *cli.Page, stopped *failure) {
	p.Head("What the model " + j.Model + " made of the work")
	var rows [][]any
	for _, i := range j.Invoices {
		if i.Why == "" {
			rows = append(rows, []any{" ", p.Good("as the policy"), i.File + " " + i.Outcome})
		} else {
			rows = append(rows, []any{" ", p.Bad("otherwise"), i.File + " " + i.Why})
		}
	}
	for _, problem := range j.Problems {
		rows = append(rows, []any{" ", p.Bad("problem"), problem})
	}
	for _, d := range j.Denied {
		rows = append(rows, []any{" ", p.Bad("denied"), fmt.Sprintf("%s, %s on %s: %s, ×%d", d.Agent, d.Ability, d.Resource, d.Operation, d.Times)})
	}
	if stopped != nil {
		rows = append(rows, []any{" ", p.Bad("stopped"), "at " + stopped.At})
	}
	p.Table(rows)
	p.Line(fmt.Sprintf("   %d of %d as the policy demands. How a model judges is its own; what it can do is the gate's.", len(j.Invoices)-j.wrong(), len(j.Invoices)))
	rows = [][]any{{"   agent", "model calls", "tokens", "cost"}}
	for _, u := range j.Usage {
		cost := "not known"
		if u.Spent.Money > 0 || u.Spent.Calls == 0 {
			cost = u.Spent.Money.String()
		}
		rows = append(rows, []any{"   " + u.Agent, u.Spent.Calls, u.Spent.Tokens, cost})
	}
	p.Table(rows)
}
