package delegation

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
	p.Head("3. They work in the namespaces of others")
	s.printSteps(p, s.Work)
	p.Line("   ", p.Dim("Each denial goes on: "+s.tail()))
	p.Head("4. They hand on more than they hold: refused before anything is signed")
	s.printSteps(p, s.Widenings)
	p.Line(fmt.Sprintf("   The agents had signed %d tokens before, and %d after.", s.Signed[0], s.Signed[1]))
	p.Head("5. The middle link is revoked while the auditor reads twice in one turn")
	s.printSteps(p, s.Revocation)
	if s.Told[2] == "" {
		p.Line("   The auditor's prompt lists nothing any more.")
	}
	p.Head("6. What the audit ledger says: who, on what, by which tokens; and why not, which those refused were not told")
	s.printRows(p)
	if s.Verified {
		p.Line(fmt.Sprintf("   The venue has signed all %d rows of it, and they are ", s.Rows), p.Good("as they were written"), ".")
	}
	for _, u := range s.Unexpected {
		p.Line(p.Bad("UNEXPECTED"), " ", u)
	}
	return p.Err()
}

// printChains draws each chain from its root to its leaf.
func (s *stage) printChains(p *cli.Page) {
	rows := [][]any{}
	for _, chain := range s.Chains {
		for depth, l := range chain {
			narrows := "from the owner"
			if depth == 0 {
				rows = append(rows, []any{"   " + s.who(l.From)})
			} else {
				narrows = "narrower in " + strings.Join(l.Narrows, ", ")
			}
			until := l.Expires
			if t, err := time.Parse(time.RFC3339, until); err == nil {
				until = t.UTC().Format("2006-01-02 15:04Z")
			}
			rows = append(rows, []any{
				strings.Repeat("   ", depth+1) + "└─ " + s.who(l.To), s.plain(l.Capability.String()), narrows,
				p.Dim("until " + until), p.Dim("token " + short(l.CID)),
			})
		}
	}
	p.Table(rows)
}

// who introduces a principal: an agent by whose it is.
func (s *stage) who(name string) string {
	for _, m := range s.Cast {
		if did := "(did:key:z6Mk…" + m.DID[max(0, len(m.DID)-4):] + ")"; m.Name == name && m.Owner == "" {
			return name + ", who " + m.Role + " " + did
		} else if m.Name == name {
			return name + " of " + m.Owner + " " + did
		}
	}
	return name
}

const denialEnd = ". Retrying the same call "

// tail is how all denials go on: whoever has no chain is told no more,
// whatever it lacks.
func (s *stage) tail() string {
	for _, st := range s.Work {
		if _, rest, cut := strings.Cut(st.Words, denialEnd); cut {
			return strings.TrimPrefix(denialEnd, ". ") + rest
		}
	}
	return ""
}

// printSteps is a line a step, with the words of a refusal.
func (s *stage) printSteps(p *cli.Page, list []step) {
	var rows [][]any
	for _, st := range list {
		mark, words := p.Good(st.Outcome), ""
		var read struct{ Value json.RawMessage }
		if st.Outcome != allowed {
			mark = p.Bad(st.Outcome)
			words = s.plain(strings.Replace(st.Words, strings.TrimSuffix(denialEnd, "Retrying the same call ")+s.tail(), ".", 1))
		} else if json.Unmarshal(st.Result, &read) == nil {
			words = string(read.Value)
		}
		rows = append(rows, []any{" ", mark, st.Agent, st.Does, p.Dim(words)})
	}
	p.Table(rows)
}

// printRows is the table of the ledger: a line for each requirement of the steps.
func (s *stage) printRows(p *cli.Page) {
	rows := [][]any{{" ", "row", "who", "needs", "on", "verdict", "by the tokens, leaf to root; or why not"}}
	for _, st := range append(s.Work, s.Revocation...) {
		verdict := p.Good(st.Outcome)
		if st.Outcome != allowed {
			verdict = p.Bad(st.Outcome)
		}
		for i, n := range st.Needs {
			by := make([]string, len(n.Proofs))
			for j, cid := range n.Proofs {
				by[j] = short(cid)
			}
			why := strings.Join(by, " ← ") + s.plain(st.Reason)
			line := []any{" ", st.Row, st.Agent, n.Ability, s.plain(n.Resource), verdict, p.Dim(why)}
			if i > 0 {
				line[1], line[2], line[5] = "", "", ""
			}
			rows = append(rows, line)
		}
	}
	p.Table(rows)
}
