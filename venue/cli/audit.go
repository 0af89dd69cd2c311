package cli

import (
	"context"
	"fmt"
	"time"

	"usher/tools"
	"usher/venue"
)

type auditCmd struct {
	List auditListCmd `cmd:"" help:"List the decisions of the gate, and check the hash chain."`
}

type auditListCmd struct {
	fromConfig
	Agent  string `placeholder:"ID" help:"Only decisions on this agent's calls."`
	Denied bool   `help:"Only denials."`
	Limit  int    `default:"0" placeholder:"N" help:"Only the last N."`
	JSON   bool   `name:"json" help:"Print every row as a line of JSON."`
}

func (c *auditListCmd) Run(ctx context.Context, s *streams) error {
	if c.Limit < 0 {
		return misusef("--limit is %d: give a positive number", c.Limit)
	}
	return c.withVenue(ctx, s, func(v *venue.Venue, _ *venue.User) error {
		var rows []venue.Row
		denied := make(map[uint64]string) // by handlers, after the decision
		for row, err := range v.Audit(ctx, 1) {
			if err != nil {
				return err
			}
			if row.Outcome == venue.OutcomeDenied {
				denied[row.Of] = row.Error
			}
			rows = append(rows, row)
		}
		kept := rows[:0]
		for _, row := range rows {
			if row.Entry == nil {
				if c.JSON && c.Agent == "" && !c.Denied {
					kept = append(kept, row)
				}
				continue
			}
			if reason, late := denied[row.Seq]; late {
				row.Verdict, row.Reason = tools.Denied, reason
			}
			if (c.Agent == "" || row.Actor == c.Agent) && (!c.Denied || row.Verdict == tools.Denied) {
				kept = append(kept, row)
			}
		}
		if c.Limit > 0 && len(kept) > c.Limit {
			kept = kept[len(kept)-c.Limit:]
		}
		fmt.Fprintln(s.err, s.notes.dim(fmt.Sprintf("%d rows, decisions and outcomes; the chain of hashes holds", len(rows))))
		return s.printRows(kept, c.JSON)
	})
}

func (s *streams) printRows(rows []venue.Row, asJSON bool) error {
	if asJSON {
		for _, row := range rows {
			if err := s.printLine(row); err != nil {
				return err
			}
		}
		return nil
	}
	out := [][]string{{"SEQ", "TIME", "VERDICT", "BY", "OPERATION", "REQUIRED", "MET BY"}}
	for _, row := range rows {
		actor := row.Actor
		if actor == "" {
			actor = "(owner)"
		}
		required, met := "", ""
		for i, need := range row.Needs {
			if i > 0 {
				required, met = required+", ", met+", "
			}
			required += need.Ability + " on " + need.Resource
			met += orDash(need.By)
		}
		out = append(out, []string{
			fmt.Sprint(row.Seq), row.Time.Format(time.DateTime), row.Verdict, actor, row.Operation, required, met,
		})
	}
	return s.table(out)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
