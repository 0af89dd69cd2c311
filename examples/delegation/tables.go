package delegation

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"usher/tools"
)

// trees draws each chain from its root to its leaf.
func (p *printer) trees() {
	type entry struct{ who, what, until, token, narrows string }
	var lines []entry
	for _, chain := range p.report.Chains {
		for depth, l := range chain {
			if depth == 0 {
				lines = append(lines, entry{who: p.who(l.From)})
			}
			e := entry{
				who: strings.Repeat("   ", depth) + "└─ " + p.who(l.To), what: p.plain(l.Capability.String()),
				until: "until " + clock(l.Expires), token: short(l.CID), narrows: "from the owner",
			}
			if depth > 0 {
				e.narrows = "narrower in " + strings.Join(l.Narrows, ", ")
			}
			lines = append(lines, e)
		}
	}
	var who, what, narrows int
	for _, e := range lines {
		who, what, narrows = max(who, width(e.who)), max(what, width(e.what)), max(narrows, width(e.narrows))
	}
	for _, e := range lines {
		if e.what == "" {
			p.line("   %s", e.who)
			continue
		}
		p.line("   %s  %s  %s  %s  %s", pad(e.who, who), pad(e.what, what), pad(e.narrows, narrows), p.dim(e.until), p.dim("token "+e.token))
	}
}

// who introduces a principal: an agent by whose it is.
func (p *printer) who(name string) string {
	m := p.member(name)
	if m == nil {
		return name
	}
	if m.Kind == isUser {
		return name + ", who " + m.Role + " (" + shortDID(m.DID) + ")"
	}
	return name + " of " + m.Owner + " (" + shortDID(m.DID) + ")"
}

func shortDID(did string) string { return "did:key:z6Mk…" + did[max(0, len(did)-4):] }

func clock(expires string) string {
	t, err := time.Parse(time.RFC3339, expires)
	if err != nil {
		return expires
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}

// width counts characters, and pad adds what is missing. Colours would count
// too, so they come after.
func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, to int) string { return s + strings.Repeat(" ", max(0, to-width(s))) }

// verdict colours the verdicts of the ledger, and nothing else.
func (p *printer) verdict(cell string) string {
	switch cell {
	case tools.Allowed:
		return p.good(cell)
	case tools.Denied:
		return p.bad(cell)
	}
	return cell
}

// rows is the table of the ledger: a line a requirement.
func (p *printer) rows(list []row) {
	cells := [][5]string{{"row", "who", "needs", "on", "verdict"}}
	last := []string{"by the tokens, leaf to root; or why not"}
	for _, r := range list {
		for i, n := range r.Needs {
			line := [5]string{strconv.FormatUint(r.Seq, 10), r.Agent, n.Ability, p.plain(n.Resource), r.Verdict}
			if i > 0 {
				line[0], line[1], line[4] = "", "", ""
			}
			cells = append(cells, line)
			by := make([]string, len(n.Proofs))
			for j, cid := range n.Proofs {
				by[j] = short(cid)
			}
			text := strings.Join(by, " ← ")
			if r.Verdict == tools.Denied {
				text = p.plain(r.Reason)
			}
			last = append(last, text)
		}
	}
	var widths [5]int
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], width(c))
		}
	}
	for n, line := range cells {
		var b strings.Builder
		for i, c := range line {
			b.WriteString("  " + p.verdict(c) + strings.Repeat(" ", widths[i]-width(c)))
		}
		p.line("%s", strings.TrimRight(" "+b.String()+"  "+p.dim(last[n]), " "))
	}
}
