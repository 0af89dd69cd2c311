package ap

import (
	"strconv"
	"strings"
	"unicode"
)

// width is how wide a column of lists may grow before it goes on below.
const width = 60

// told is what a model or an invoice said, on one line and of a bearable
// length: control characters could rewrite what the terminal shows.
func told(s string) string {
	const most = 1000
	runes := []rune(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }), " "))
	if len(runes) > most {
		return string(runes[:most]) + " …"
	}
	return string(runes)
}

// fold breaks a list into lines at its separators.
func fold(list, separator string) []string {
	var lines []string
	line := ""
	for _, part := range strings.SplitAfter(list, separator) {
		if line != "" && len(line)+len(strings.TrimSpace(part)) > width {
			lines, line = append(lines, strings.TrimSpace(line)), ""
		}
		line += part
	}
	return append(lines, strings.TrimSpace(line))
}

// tall writes a row whose last cell may take several lines.
func tall(row func(...string), last []string, cells ...string) {
	for i, line := range last {
		if i > 0 {
			for j := range cells {
				cells[j] = ""
			}
		}
		row(append(cells, line)...)
	}
}

// mandates is the table of the agents and their capabilities.
func (p *printer) mandates(list []mandate) {
	p.rows(func(row func(...string)) {
		for _, m := range list {
			tall(row, fold(m.set.String(), ", "), "   "+m.Agent, m.Description)
		}
	})
}

// decisions is a line an invoice.
func (p *printer) decisions(list []*processed) {
	p.rows(func(row func(...string)) {
		for _, i := range list {
			d := i.Decision
			if i.Problem != "" {
				tall(row, fold(i.Problem, ": "), "   "+i.File, "", "", i.outcome())
				continue
			}
			amount := d.Total.Grouped()
			if d.Currency != "" {
				amount += " " + string(d.Currency)
			}
			tall(row, fold(d.Reason, "; "), "   "+d.Invoice, d.Vendor, amount, i.outcome())
		}
	})
}

// attempts lists what was tried, by agent, each refusal in the gate's words.
// What all denials of one holder have in common is said with the first.
func (p *printer) attempts(list []attempted) {
	agent := ""
	said := make(map[string]bool)
	for _, a := range list {
		if a.Agent != agent {
			agent = a.Agent
			p.line("   %s", p.bold(agent))
		}
		words := a.Words
		if what, held, ok := strings.Cut(words, " Your capabilities are: "); ok {
			held, why, _ := strings.Cut(held, " Retrying the same call will not succeed — the denial is structural.")
			if said[held] {
				words = what + why
			}
			said[held] = true
		}
		mark := p.bad("denied ")
		switch a.Outcome {
		case allowed:
			mark = p.good("allowed")
		case invalid:
			mark = p.bad("refused")
		case failed:
			mark = p.bad("failed ")
		case byModel:
			mark = p.dim("answered")
		}
		p.line("     %s  %s", mark, a.What)
		if words != "" {
			p.line("              %s", p.dim(told(words)))
		}
	}
}

// audit is the table of decisions by agent.
func (p *printer) audit(a *audit) {
	p.rows(func(row func(...string)) {
		row("   agent", "allowed", "denied")
		for _, t := range a.Tally {
			row("   "+t.Agent, strconv.Itoa(t.Allowed), strconv.Itoa(t.Denied))
		}
	})
	state := p.good("verified")
	if !a.Verified {
		state = p.bad("BROKEN")
	}
	p.line("   %d rows, one for each decision and one for each outcome; chain of hashes %s", a.Rows, state)
}
