package ap

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrJudgement: the gate held, but the model that was plugged in did not do
// the department's work as the policy demands.
var ErrJudgement = errors.New("the gate held, but the model did not do all of the work as the policy demands")

// judgement is how the model that was plugged in did the work. Nothing in it is
// the gate's business: authority bounds what a model can do, not how wisely.
type judgement struct {
	Model    string    `json:"model"`
	Invoices []judged  `json:"invoices"`
	AsPolicy int       `json:"asPolicy"` // how many of them
	Problems []string  `json:"problems"` // beside the invoices
	Denied   []refusal `json:"denied"`   // what the gate kept it from, while it worked
	Usage    []used    `json:"usage"`
}

// judged is an invoice's outcome beside the one that the policy demands.
type judged struct {
	File     string `json:"file"`
	Invoice  string `json:"invoice"`
	Outcome  string `json:"outcome"`
	Policy   string `json:"policy"`
	AsPolicy bool   `json:"asPolicy"`
	Why      string `json:"why,omitempty"` // it is not
}

func (j *judgement) failed() error {
	wrong := len(j.Invoices) - j.AsPolicy
	switch {
	case wrong > 0:
		return fmt.Errorf("%w: model %s: %d of %d invoices came out otherwise", ErrJudgement, j.Model, wrong, len(j.Invoices))
	case len(j.Problems) > 0:
		return fmt.Errorf("%w: model %s: %s", ErrJudgement, j.Model, j.Problems[0])
	}
	return nil
}

func (j *judgement) problem(format string, args ...any) {
	j.Problems = append(j.Problems, fmt.Sprintf(format, args...))
}

// show is one of the demo's own invoices, what it asks for and what must come
// of it by the policy.
type show struct{ file, total, decision, escalateTo string }

var shows = []show{
	{"1-kestrel", "15600", escalated, "Marisol Ortega"},
	{"2-corvane", "6500", rejected, ""},
	{"3-brightwater-hosting", "800", approved, ""},
	{"4-brightwater-consulting", "75500", escalated, "Ingrid Solheim"},
	{"5-lumenfold", "12000", rejected, ""},
}

var repeated = show{"6-kestrel-again", "15600", rejected, ""}

const noDecision = "came to no decision"

// differs says in what an outcome is not the policy's; empty where it is.
// stored tells whether the decision is on record as it was answered.
func (s show) differs(p *processed, stored bool) string {
	if p.Problem != "" {
		return noDecision + ": " + p.Problem
	}
	var out []string
	if got := p.Extraction.Total.String(); got != s.total {
		out = append(out, "was read with a total of "+got+" instead of "+s.total)
	}
	to := string(p.Decision.EscalateTo)
	// Names come with titles, or without.
	if p.Decision.Decision != s.decision || (to == "") != (s.escalateTo == "") || !strings.Contains(strings.ToLower(to), strings.ToLower(s.escalateTo)) {
		out = append(out, "came out as "+p.outcome()+" instead of "+outcome(s.decision, s.escalateTo))
	}
	if !stored {
		out = append(out, "has no record of this decision")
	}
	return strings.Join(out, ", and ")
}

func outcome(decision, escalateTo string) string {
	if escalateTo == "" {
		return decision
	}
	return decision + " to " + escalateTo
}

// stored reports whether a decision is on record as it was answered: a model
// may say so and not have done it.
func (h *house) stored(ctx context.Context, p *processed) bool {
	var kept value[decision]
	if p.Problem != "" || !p.Decision.Recorded || h.get(ctx, &kept, "covia:read", object{"path": "w/decisions/" + p.Enrichment.RecordID}) != nil {
		return false
	}
	return kept.Value != nil && outcomeOf(*kept.Value) == outcomeOf(p.Decision)
}

func outcomeOf(d decision) string {
	return outcome(d.Decision, string(d.EscalateTo))
}

// judge notes the outcome of one of the demo's own invoices. The programs must
// come to the policy's; a model that was plugged in is reported on.
func (h *house) judge(ctx context.Context, r *report, s show, p *processed) {
	why := s.differs(p, h.stored(ctx, p))
	if r.Judgement == nil {
		if why != "" {
			r.unexpected("invoice %s %s", p.Decision.Invoice, why)
		}
		return
	}
	j := r.Judgement
	if why == "" {
		j.AsPolicy++
	}
	j.Invoices = append(j.Invoices, judged{
		File: s.file, Invoice: p.Decision.Invoice, Outcome: p.outcome(), Policy: outcome(s.decision, s.escalateTo),
		AsPolicy: why == "", Why: why,
	})
}
