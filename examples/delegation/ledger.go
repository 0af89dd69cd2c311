package delegation

import (
	"context"
	"slices"
	"strings"

	"usher/tools"
	audit "usher/venue/ledger"
)

// ledger is what the audit ledger says of the calls into another's namespace,
// and of the revocation.
type ledger struct {
	Rows     []row `json:"rows"`
	Total    int   `json:"total"`    // rows of the whole ledger
	Verified bool  `json:"verified"` // the hash chain holds
}

// row is one decision.
type row struct {
	Seq       uint64              `json:"seq"`
	Agent     string              `json:"agent"`
	DID       string              `json:"did"`
	Operation string              `json:"operation"`
	Needs     []tools.Requirement `json:"needs"`
	Verdict   string              `json:"verdict"`
	Reason    string              `json:"reason,omitempty"` // of a denial; its agent was not told
	Outcome   string              `json:"outcome,omitempty"`
}

// audit reads the ledger from its beginning, which checks the chain of hashes,
// and compares it with what the agents did.
func (s *stage) audit(ctx context.Context) error {
	out := &s.report.Ledger
	out.Rows = []row{}
	for r, err := range s.v.Audit(ctx, 0) {
		if err != nil {
			s.report.unexpected("the audit ledger: %v", err)
			return ctx.Err()
		}
		out.Total++
		if r.Entry == nil {
			if i := slices.IndexFunc(out.Rows, func(d row) bool { return d.Seq == r.Of }); i >= 0 {
				out.Rows[i].Outcome = r.Outcome
			}
		} else if across(r) {
			out.Rows = append(out.Rows, row{Seq: r.Seq, Agent: r.Actor, DID: r.Owner, Operation: r.Operation, Needs: r.Needs, Verdict: r.Verdict, Reason: r.Reason})
		}
	}
	out.Verified = true
	s.compare(append(slices.Clone(s.report.Work), s.report.Revocation...))
	return nil
}

// across reports whether a decision was on another's data, or on a revocation.
func across(r audit.Row) bool {
	if r.Operation == "v/ops/ucan/revoke" {
		return true
	}
	return strings.HasPrefix(r.Operation, "v/ops/covia/") &&
		slices.ContainsFunc(r.Needs, func(n tools.Requirement) bool { return strings.HasPrefix(n.Resource, "did:") })
}

// compare holds the ledger against what the agents did, in order.
func (s *stage) compare(did []tried) {
	rows := s.report.Ledger.Rows
	if len(rows) != len(did) {
		s.report.unexpected("the ledger has %d calls, the agents made %d", len(rows), len(did))
		return
	}
	for i, t := range did {
		r := rows[i]
		verdict, outcome := tools.Allowed, audit.OutcomeOK
		if t.step.want == denied {
			verdict, outcome = tools.Denied, ""
		}
		if r.Agent != t.Agent || r.DID != s.member(t.Agent).DID || r.Verdict != verdict || r.Outcome != outcome {
			s.report.unexpected("row %d: %s %s %s, want %s %s %s", r.Seq, r.Agent, r.Verdict, r.Outcome, t.Agent, verdict, outcome)
		}
		s.compareNeeds(r, t.step)
		for _, why := range t.step.why {
			if !strings.Contains(r.Reason, why.Error()) {
				s.report.unexpected("row %d: the reason is %q, want %q in it", r.Seq, r.Reason, why)
			}
			if strings.Contains(t.Words, why.Error()) {
				s.report.unexpected("%s is told why its chain does not hold: %s", t.Agent, t.Words)
			}
		}
	}
}

func (s *stage) compareNeeds(r row, st step) {
	if len(r.Needs) != len(st.needs) {
		s.report.unexpected("row %d has %d requirements, want %d", r.Seq, len(r.Needs), len(st.needs))
		return
	}
	for i, n := range r.Needs {
		want := st.needs[i]
		if got := s.plain(n.Resource); n.Ability != want.can || got != want.on {
			s.report.unexpected("row %d: %s on %s, want %s on %s", r.Seq, n.Ability, got, want.can, want.on)
		}
		var proofs []string
		if st.want == allowed {
			proofs = s.proofs(st.agent, want.on)
		}
		if !slices.Equal(n.Proofs, proofs) {
			s.report.unexpected("row %d: %s on %s rests on %s, want %s", r.Seq, want.can, want.on, n.Proofs, proofs)
		}
	}
}
