package delegation

import (
	"encoding/json"
	"fmt"
	"strings"

	"usher/venue/cli"
)

// print tells the story.
func (s *stage) print(p *cli.Page) error {
	p.Head("Delegation: two users, three agents with keys of their own, and who let whom in")
	p.Head("1. Who lets whom in (below, DIDs are written as these names)")
	s.printChains(p)
	p.Head("2. What the carrier's model is told")
	for line := range strings.Lines(s.plain(s.Told[0])) {
		p.Line("   ", p.Dim("|"), " ", strings.TrimSuffix(line, "\n"))
	}
	for i, sc := range s.Scenes {
		p.Head(fmt.Sprintf("%d. %s", i+3, sc.Title))
		s.printSteps(p, sc.Steps)
	}
	if s.Told[1] == "" {
		p.Line("   The auditor's prompt lists nothing any more.")
	}
	if s.Verified {
		p.Line(fmt.Sprintf("   The venue has signed all %d rows of its ledger, and they are ", s.Rows), p.Good("as they were written"), ".")
	}
	for _, u := range s.Unexpected {
		p.Line(p.Bad("UNEXPECTED"), " ", u)
	}
	return p.Err()
}

// short is the end of a CID: the beginnings are all alike.
func short(cid string) string { return "…" + cid[max(0, len(cid)-6):] }

// printChains draws each chain from its root to its leaf.
func (s *stage) printChains(p *cli.Page) {
	rows := [][]any{}
	for _, chain := range s.Chains {
		for depth, t := range chain {
			if depth == 0 {
				rows = append(rows, []any{"   " + s.who(t.Issuer)})
			}
			rows = append(rows, []any{
				strings.Repeat("   ", depth+1) + "└─ " + s.who(t.Audience), s.plain(t.Capabilities[0].String()),
				p.Dim("until " + t.Expires), p.Dim("token " + short(t.CID)),
			})
		}
	}
	p.Table(rows)
}

// who introduces a principal: an agent by whose it is.
func (s *stage) who(did string) string {
	for _, m := range s.Cast {
		if m.DID == did && m.Owner == "" {
			return m.Name + ", who " + m.Role
		} else if m.DID == did {
			return m.Name + " of " + m.Owner
		}
	}
	return did
}

// printSteps is a line a step: the words of a refusal, or what a call read, and then
// what the ledger has: the row, what each requirement rests on, leaf to root, and why
// one was refused, which whoever asked was not told.
func (s *stage) printSteps(p *cli.Page, list []step) {
	var rows [][]any
	for _, st := range list {
		mark := p.Good(st.Outcome)
		words, _, _ := strings.Cut(st.Words, " Retrying the same call ")
		if st.Outcome != allowed {
			mark = p.Bad(st.Outcome)
		}
		var read struct{ Value json.RawMessage }
		if json.Unmarshal(st.Result, &read) == nil {
			words = string(read.Value)
		}
		rows = append(rows, []any{" ", mark, st.Agent, st.Does, p.Dim(s.plain(words))})
		if st.Outcome == refused { // by the operation: the gate let it pass
			continue
		}
		for i, n := range st.Needs {
			by := make([]string, len(n.Proofs))
			for j, cid := range n.Proofs {
				by[j] = short(cid)
			}
			row := ""
			if i == 0 {
				row = fmt.Sprintf("row %d", st.Row)
			}
			why := strings.TrimSpace("by " + strings.Join(by, " ← "))
			if len(by) == 0 {
				why = st.Reason
			}
			rows = append(rows, []any{" ", "", p.Dim(row), p.Dim(s.plain(n.Ability + " on " + n.Resource)), p.Dim(s.plain(why))})
		}
	}
	p.Table(rows)
}
