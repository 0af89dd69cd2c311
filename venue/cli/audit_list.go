package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/tools/agents"
	"usher/venue/ledger"
	"usher/venue/visitors"
)

type auditListCmd struct {
	onVenue
	Agent  string    `placeholder:"ID" help:"Only decisions on this agent's calls."`
	Denied bool      `help:"Only denials, and what Agent-Auth refused."`
	Limit  int       `default:"100" placeholder:"N" help:"Only the last N; 0 is all."`
	Before rowNumber `placeholder:"ROW" help:"Only what stands before this row."`
}

func (c *auditListCmd) Run(ctx context.Context, s *streams) error {
	if c.Limit < 0 {
		return misusef("--limit is %d: give a positive number", c.Limit)
	}
	return c.withLedger(ctx, s, func(r *ledger.Reader) error {
		rows, err := c.read(ctx, r)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			s.note("no row is of this kind" + c.nobody())
		}
		pruned, err := r.PruneNote(ctx)
		if err != nil {
			return err
		}
		if len(rows) == c.Limit && c.Limit > 0 && rows[0].Seq > pruned.To+1 {
			s.note(fmt.Sprintf("there may be more: add --before %d", rows[0].Seq))
		} else if pruned.To > 0 {
			s.note(pruned.Error())
		}
		if !c.JSON {
			err = s.table(decisions(rows))
		}
		for i := 0; c.JSON && err == nil && i < len(rows); i++ {
			err = s.printLine(rows[i].Row)
		}
		if err != nil {
			return err
		}
		return r.Continues(ctx, c.checkpointPlaces()) // what is listed may be another ledger
	})
}

// nobody adds that no agent of the configuration has the id.
func (c *auditListCmd) nobody() string {
	if _, ok := c.entry(c.Agent); ok || c.Agent == "" {
		return ""
	}
	return fmt.Sprintf(": %s has no agent %q", c.Config, c.Agent)
}

// later is how many rows after those that are listed are looked through for the
// outcome of one.
const later = 10_000

// read goes back from the last row until there are enough, and returns them in
// their order, with the outcomes of the decisions among them.
func (c *auditListCmd) read(ctx context.Context, r *ledger.Reader) (rows []ledger.Verdict, err error) {
	for row, err := range r.LastVerdicts(ctx, uint64(c.Before), later) {
		if err != nil {
			return nil, err
		}
		if c.wants(&row) {
			rows = append(rows, row)
		}
		if c.Limit > 0 && len(rows) == c.Limit {
			break
		}
	}
	slices.Reverse(rows)
	return rows, nil
}

func (c *auditListCmd) wants(row *ledger.Verdict) bool {
	if row.Entry == nil {
		who, _, _, refused := visitors.ReadRefusal(&row.Row)
		if c.Agent == "" && !c.Denied {
			return c.JSON || row.Note != ""
		}
		return refused && (c.Agent == "" || who == strings.TrimPrefix(c.Agent, agents.VisitorMark))
	}
	return (c.Agent == "" || row.Actor == c.Agent || slices.Contains(row.Wrote, c.Agent)) && (!c.Denied || row.IsDenied())
}

func decisions(rows []ledger.Verdict) [][]string {
	out := [][]string{{"SEQ", "TIME", "VERDICT", "BY", "OPERATION", "REQUIRED", "MET BY", "OUTCOME"}}
	owners := make(map[string]bool)
	for _, row := range rows {
		if row.Entry != nil {
			owners[row.Owner] = true
		}
	}
	for _, row := range rows {
		add := func(cells ...string) {
			out = append(out, append([]string{fmt.Sprint(row.Seq), row.Time.Format(time.DateTime)}, cells...))
		}
		if who, what, why, refused := visitors.ReadRefusal(&row.Row); refused {
			add("refused", orDash(who), row.Note+" "+what, "-", "-", why)
			continue
		}
		if row.Note != "" {
			by := "(venue)"
			if row.Note == ledger.NoteOutcome {
				by = "(owner)"
			}
			add("-", by, row.Note+" "+string(row.Detail), "-", "-", "-")
			continue
		}
		person := "(owner)"
		if len(owners) > 1 { // then the end of the DID tells who
			person = "(owner …" + row.Owner[max(0, len(row.Owner)-6):] + ")"
		}
		by := cmp.Or(row.Actor, person)
		if len(row.Via) > 0 {
			by += " via " + strings.Join(row.Via, ", ")
		}
		if len(row.Wrote) > 0 {
			by += " by a program of " + strings.Join(row.Wrote, ", ")
		}
		if row.BoundedBy != "" {
			by += " (bounded by " + row.BoundedBy + ")"
		}
		required, met := make([]string, len(row.Needs)), make([]string, len(row.Needs))
		for i, need := range row.Needs {
			required[i] = need.Ability + " on " + need.Resource
			met[i] = orDash(need.By)
			if len(need.Proofs) > 0 {
				met[i] += " by " + strings.Join(need.Proofs, ", ")
			}
		}
		outcome := "-"
		if row.Late != nil {
			outcome = orDash(row.Late.Outcome)
		}
		add(row.Verdict, by, row.Operation, strings.Join(required, ", "), strings.Join(met, ", "), outcome)
	}
	return out
}

func orDash(s string) string { return cmp.Or(s, "-") }
