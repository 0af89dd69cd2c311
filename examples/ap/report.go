package ap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/spend"
	"usher/venue/ledger"
)

// report is what the demo prints, and with --json what it is as data.
type report struct {
	Agents     []mandate  `json:"agents"`
	Invoice    *result    `json:"invoice,omitempty"`   // the one that was given
	Invoices   []*result  `json:"invoices,omitempty"`  // the demo's own
	Judgement  *judgement `json:"judgement,omitempty"` // of a model that was plugged in
	Summary    string     `json:"summary,omitempty"`   // the manager's
	Attempts   []attempt  `json:"attempts,omitempty"`
	Unchanged  bool       `json:"unchanged"`         // all that is stored, by the attempts
	Failure    *failure   `json:"failure,omitempty"` // why there is no more
	Audit      audit      `json:"audit"`
	Unexpected []string   `json:"unexpected"`
}

// mandate is an agent and what it holds.
type mandate struct {
	Agent       string   `json:"agent"`
	Description string   `json:"description"`
	Caps        caps.Set `json:"caps"`
}

// judgement is how the model that was plugged in did the work. Nothing in it is
// the gate's business: authority bounds what a model can do, not how wisely.
type judgement struct {
	Model    string     `json:"model"`
	Invoices []judgment `json:"invoices"`
	Problems []string   `json:"problems,omitempty"` // beside the invoices
	Denied   []refusal  `json:"denied,omitempty"`   // what the gate kept it from, while it worked
	Usage    []used     `json:"usage"`              // for that
}

// judgment is an invoice's outcome beside the one that the policy demands.
type judgment struct {
	File    string `json:"file"`
	Outcome string `json:"outcome"`
	Policy  string `json:"policy"`
	Why     string `json:"why,omitempty"` // it is not as the policy
}

// refusal is a call that the gate refused an agent, and how often.
type refusal struct {
	Agent     string `json:"agent"`
	Operation string `json:"operation"`
	Ability   string `json:"ability"`
	Resource  string `json:"resource"`
	Times     int    `json:"times"`
}

// used is what an agent used of the model.
type used struct {
	Agent string       `json:"agent"`
	Spent spend.Amount `json:"spent"`
}

// failure is why the work ended before its time.
type failure struct {
	At    string `json:"at"`
	Words string `json:"error"`
}

// audit is what the ledger says.
type audit struct {
	Allowed  int    `json:"allowed"`
	Denied   int    `json:"denied"`
	Rows     uint64 `json:"rows"`     // one for each decision, and one for each outcome
	Signed   uint64 `json:"signed"`   // rows that a checkpoint of the venue covers
	Verified bool   `json:"verified"` // all rows are those that were written
}

func (r *report) surprise(format string, args ...any) {
	r.Unexpected = append(r.Unexpected, fmt.Sprintf(format, args...))
}

// wrong is the number of invoices that came out otherwise than by the policy.
func (j *judgement) wrong() (n int) {
	for _, i := range j.Invoices {
		if i.Why != "" {
			n++
		}
	}
	return n
}

// verdict is what is wrong with all of it.
func (r *report) verdict() error {
	j := r.Judgement
	switch {
	case len(r.Unexpected) > 0:
		return fmt.Errorf("%w: %s", errUnexpected, r.Unexpected[0])
	case r.Failure != nil:
		return fmt.Errorf("%s: %s", r.Failure.At, r.Failure.Words)
	case j != nil && j.wrong() > 0:
		return fmt.Errorf("%w: model %s: %d of %d invoices came out otherwise", errJudgement, j.Model, j.wrong(), len(j.Invoices))
	case j != nil && len(j.Problems) > 0:
		return fmt.Errorf("%w: model %s: %s", errJudgement, j.Model, j.Problems[0])
	}
	return nil
}

func outcome(decision, escalateTo string) string {
	if escalateTo == "" {
		return decision
	}
	return decision + " to " + escalateTo
}

func (d *decision) outcome() string { return outcome(d.Decision, d.EscalateTo) }

// judge notes the outcome of one of the demo's own invoices. The programs must
// come to the policy's; a model that was plugged in is reported on. stored tells
// whether the decision is on record as it was answered.
func (r *report) judge(s show, p *result, stored bool) {
	got, to := p.Decision.outcome(), p.Decision.EscalateTo
	var why []string
	if total := p.Extraction.Total.String(); total != s.total {
		why = append(why, "was read with a total of "+total+" instead of "+s.total)
	}
	// Names come with titles, or without.
	if p.Decision.Decision != s.decision || (to == "") != (s.escalateTo == "") || !strings.Contains(strings.ToLower(to), strings.ToLower(s.escalateTo)) {
		why = append(why, "came out as "+got+" instead of "+outcome(s.decision, s.escalateTo))
	}
	if !stored {
		why = append(why, "has no record of this decision")
	}
	if p.Problem != "" {
		got, why = "NO DECISION", []string{"came to no decision"}
	}
	text := strings.Join(why, ", and ")
	if r.Judgement != nil {
		r.Judgement.Invoices = append(r.Judgement.Invoices, judgment{s.file, got, outcome(s.decision, s.escalateTo), text})
	} else if text != "" {
		r.surprise("invoice %s %s", s.file, text)
	}
}

// usage notes what the agents have used of the model that was plugged in.
func (h *house) usage(ctx context.Context) error {
	if h.Judgement == nil || h.Judgement.Usage != nil {
		return nil
	}
	known, err := h.infos(ctx)
	for i := range known {
		h.Judgement.Usage = append(h.Judgement.Usage, used{h.Agents[i].Agent, known[i].Spent})
	}
	return err
}

// audit reads the ledger, which checks it against what the venue signed, and looks
// whether each call that was allowed is within the mandate of its agent.
func (h *house) audit(ctx context.Context) error {
	if err := h.usage(ctx); err != nil {
		return err
	}
	if _, err := h.v.Ledger().Checkpoint(ctx); err != nil {
		return err
	}
	found, err := h.v.Ledger().Verify(ctx, nil)
	if err != nil {
		h.surprise("the audit ledger: %v", err)
		return ctx.Err()
	}
	h.Audit = audit{Rows: found.Rows, Signed: found.Signed, Verified: true}
	for row, err := range h.v.Audit(ctx, 1) {
		if err != nil {
			return err
		}
		if row.Entry == nil {
			continue
		}
		if row.Verdict == tools.Allowed {
			h.Audit.Allowed++
		} else {
			h.Audit.Denied++
			h.noteRefusal(&row)
		}
		if need, found := beyond(h.Agents, &row); found {
			h.surprise("row %d of the ledger lets %s use %s on %s, which it does not hold", row.Seq, row.Actor, need.Ability, need.Resource)
		}
	}
	return nil
}

// noteRefusal notes what the gate kept a model from that was plugged in, while it
// worked.
func (h *house) noteRefusal(row *ledger.Row) {
	j := h.Judgement
	if j == nil || h.worked > 0 && row.Seq > h.worked {
		return
	}
	one := refusal{Agent: row.Actor, Operation: row.Operation}
	for _, n := range row.Needs {
		if n.Unmet {
			one.Ability, one.Resource = n.Ability, n.Resource
		}
	}
	i := slices.IndexFunc(j.Denied, func(known refusal) bool { known.Times = 0; return known == one })
	if i < 0 {
		i, j.Denied = len(j.Denied), append(j.Denied, one)
	}
	j.Denied[i].Times++
}

// beyond returns the first need of an allowed call that the agent's mandate
// does not cover: the gate's verdict found again from the ledger.
func beyond(mandates []mandate, row *ledger.Row) (need tools.Requirement, found bool) {
	i := slices.IndexFunc(mandates, func(m mandate) bool { return m.Agent == row.Actor })
	if i < 0 || row.Verdict != tools.Allowed {
		return need, false
	}
	for _, n := range row.Needs {
		ask := caps.Need(n.Ability, n.Resource)
		if n.Resource == "(any)" { // as the ledger writes a need without a resource
			ask = caps.NeedAbility(n.Ability)
		}
		if !mandates[i].Caps.Check(ask).IsAllowed() {
			return n, true
		}
	}
	return need, false
}
