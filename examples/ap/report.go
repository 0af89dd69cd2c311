package ap

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
)

// report is what the demo prints, and with --json what it is as data.
type report struct {
	Agents     []mandate    `json:"agents"`
	Invoice    *processed   `json:"invoice,omitempty"`  // the one that was given
	Invoices   []*processed `json:"invoices,omitempty"` // the demo's own
	Repeated   *processed   `json:"repeated,omitempty"`
	Judgement  *judgement   `json:"judgement,omitempty"` // of a model that was plugged in
	Summary    string       `json:"summary,omitempty"`   // the manager's
	Attempts   []attempted  `json:"attempts,omitempty"`
	Unchanged  *bool        `json:"unchanged,omitempty"` // by the attempts
	Failure    *failure     `json:"failure,omitempty"`   // why there is no more
	Audit      *audit       `json:"audit"`
	Unexpected []string     `json:"unexpected"`
	worked     uint64       // the ledger's last row before the attempts; 0 where none were made
}

// mandate is an agent and what it holds.
type mandate struct {
	Agent       string          `json:"agent"`
	Description string          `json:"description"`
	Caps        json.RawMessage `json:"caps"`
	set         caps.Set
}

// audit counts the decisions in the ledger.
type audit struct {
	Tally    []tally `json:"tally"`
	Rows     int     `json:"rows"`
	Verified bool    `json:"verified"` // the hash chain holds
}

// denied is the number of denials in the ledger.
func (a *audit) denied() (n int) {
	for _, t := range a.Tally {
		n += t.Denied
	}
	return n
}

// tally counts the decisions on one agent's calls.
type tally struct {
	Agent   string `json:"agent"`
	Allowed int    `json:"allowed"`
	Denied  int    `json:"denied"`
}

func (r *report) unexpected(format string, args ...any) {
	r.Unexpected = append(r.Unexpected, fmt.Sprintf(format, args...))
}

// count is the number of attempts with an outcome.
func (r *report) count(outcome string) (n int) {
	for _, a := range r.Attempts {
		if a.Outcome == outcome {
			n++
		}
	}
	return n
}

func (h *house) mandates(ctx context.Context) ([]mandate, error) {
	var out []mandate
	for _, id := range h.agents {
		a, err := h.user.Agent(ctx, id)
		if err != nil {
			return nil, err
		}
		info, err := a.Info(ctx)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(info.Caps)
		if err != nil {
			return nil, err
		}
		out = append(out, mandate{id, info.Config.Description, raw, info.Caps})
	}
	return out, nil
}

// inPerson is how the user in person stands in the tally.
const inPerson = "(the user)"

// audit reads the ledger from its beginning, which checks the chain of hashes,
// and looks whether each call that was allowed is within the mandate of its
// agent.
func (h *house) audit(ctx context.Context, r *report) (*audit, error) {
	out := &audit{}
	counts := make(map[string]*tally)
	for row, err := range h.v.Audit(ctx, 0) {
		if err != nil {
			return out, err
		}
		out.Rows++
		if row.Entry == nil {
			continue
		}
		who := row.Actor
		if who == "" {
			who = inPerson
		}
		if counts[who] == nil {
			counts[who] = &tally{Agent: who}
		}
		if row.Verdict == tools.Allowed {
			counts[who].Allowed++
		} else {
			counts[who].Denied++
			if r.Judgement != nil && (r.worked == 0 || row.Seq <= r.worked) {
				r.Judgement.Denied = refused(r.Judgement.Denied, &row)
			}
		}
		if need, found := beyond(r.Agents, &row); found {
			r.unexpected("row %d of the ledger lets %s use %s on %s, which it does not hold", row.Seq, row.Actor, need.Ability, need.Resource)
		}
	}
	for _, t := range counts {
		out.Tally = append(out.Tally, *t)
	}
	slices.SortFunc(out.Tally, func(a, b tally) int { return strings.Compare(a.Agent, b.Agent) })
	out.Verified = true
	return out, nil
}
