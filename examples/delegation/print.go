package delegation

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"usher/venue/cli"
)

// printer writes the report for people.
type printer struct {
	*stage
	out   io.Writer
	color bool
	err   error
}

func (s *stage) print(opts cli.DemoOptions) error {
	if opts.JSON {
		enc := json.NewEncoder(opts.Out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(s.report)
	}
	p := &printer{stage: s, out: opts.Out, color: opts.Color}
	p.all()
	return p.err
}

func (p *printer) all() {
	r := p.report
	p.line("%s", p.bold("Delegation: two users, three agents with keys of their own, and who let whom in"))
	p.head("1. Who lets whom in (below, DIDs are written as these names)")
	p.trees()
	p.head("2. What the carrier's model is told")
	p.quote(r.Told)
	p.head("3. They work in the namespaces of others")
	p.steps(r.Work, false)
	if tail := p.tail(); tail != "" {
		p.line("   %s", p.dim("Each denial goes on: "+tail))
	}
	p.head("4. They hand on more than they hold: refused before anything is signed")
	p.steps(r.Widenings, true)
	p.line("   The agents had signed %d tokens before, and %d after.", r.Signed.Before, r.Signed.After)
	p.head("5. The middle link is revoked while the auditor reads twice in one turn")
	p.steps(r.Revocation, false)
	p.line("   %s", p.outcome())
	p.head("6. What the audit ledger says: who, on what, by which tokens; and why not, which those refused were not told")
	p.rows(r.Ledger.Rows)
	state := p.good("verified")
	if !r.Ledger.Verified {
		state = p.bad("BROKEN")
	}
	p.line("   %d rows in all, chain of hashes %s", r.Ledger.Total, state)
	for _, u := range r.Unexpected {
		p.line("%s %s", p.bad("UNEXPECTED"), p.plain(u))
	}
}

// outcome says what the revocation left, in the folder of Alice: the first two values.
func (p *printer) outcome() string {
	var parts []string
	if p.report.ToldAfter.Auditor == "" {
		parts = append(parts, "The auditor's prompt lists nothing any more.")
	}
	for _, k := range p.report.Kept[:min(2, len(p.report.Kept))] {
		parts = append(parts, fmt.Sprintf("%s is %q.", k.On, k.Value))
	}
	return strings.Join(parts, " ")
}

const denialEnd = ". Retrying the same call "

// sentence parts a denial into what it is about and what the caller has there, and
// the rest.
func sentence(words string) (first, rest string) {
	first, rest, cut := strings.Cut(words, denialEnd)
	if !cut {
		return words, ""
	}
	return first + ".", strings.TrimPrefix(denialEnd, ". ") + rest
}

// tail is how all denials go on: whoever has no chain is told no more,
// whatever it lacks.
func (p *printer) tail() string {
	for _, t := range p.report.Work {
		if t.Outcome == denied {
			_, rest := sentence(t.Words)
			return rest
		}
	}
	return ""
}

// steps is a line a step, with the words of a refusal beside it, or below.
func (p *printer) steps(list []tried, below bool) {
	var agents, does int
	for _, t := range list {
		agents, does = max(agents, len(t.Agent)), max(does, len(t.Does))
	}
	tail := p.tail()
	for _, t := range list {
		mark := p.good(allowed)
		if t.Outcome != allowed {
			mark = p.bad(fmt.Sprintf("%-7s", t.Outcome))
		}
		words := p.plain(t.Words)
		if first, rest := sentence(t.Words); rest == tail {
			words = p.plain(first)
		}
		if t.Outcome == allowed {
			words = valueOf(t.Result)
		}
		text := fmt.Sprintf("%-*s  %-*s", agents, t.Agent, does, t.Does)
		switch {
		case words == "":
			p.line("   %s  %s", mark, strings.TrimRight(text, " "))
		case below:
			p.line("   %s  %s", mark, strings.TrimRight(text, " "))
			p.line("            %s", p.dim(words))
		default:
			p.line("   %s  %s  %s", mark, text, p.dim(words))
		}
	}
}

// valueOf is what a call read, where it read something.
func valueOf(result json.RawMessage) string {
	var read struct{ Value json.RawMessage }
	if json.Unmarshal(result, &read) != nil {
		return ""
	}
	return string(read.Value)
}

func (p *printer) quote(text string) {
	for line := range strings.Lines(p.plain(text)) {
		p.line("   %s %s", p.dim("|"), strings.TrimSuffix(line, "\n"))
	}
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

func (p *printer) head(title string) { p.line("\n%s", p.bold(title)) }

func (p *printer) paint(s string, style lipgloss.Style) string {
	if !p.color || s == "" {
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
