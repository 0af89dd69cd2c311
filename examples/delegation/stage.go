package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/delegation"
	"usher/venue"
)

type object = map[string]any

// stage is where the story is played.
type stage struct {
	report
	story
	v      *venue.Venue
	model  *model
	dir    string
	users  map[string]*venue.User
	agents map[string]*venue.Agent
	spell  []string // pairs: {NAME} and DID, {link N} and CID
	names  []string // pairs: DID and name, and of a CID its end
	cids   []string // of the links
}

// report is what the demo prints, and with --json what it is as data: DIDs,
// CIDs and words in full.
type report struct {
	Cast       []member             `json:"cast"`
	Chains     [][]delegation.Token `json:"chains"` // root first
	Told       [2]string            `json:"told"`   // to the carrier's model of what is delegated to it, and in the end to the auditor's
	Scenes     []scene              `json:"scenes"`
	Rows       uint64               `json:"rows"`     // of the ledger
	Verified   bool                 `json:"verified"` // all rows are those that were written
	Unexpected []string             `json:"unexpected"`
}

func (s *stage) surprise(format string, args ...any) {
	s.Unexpected = append(s.Unexpected, s.plain(fmt.Sprintf(format, args...)))
}

// plain writes DIDs as names and CIDs by their ends.
func (s *stage) plain(text string) string { return strings.NewReplacer(s.names...).Replace(text) }

func (s *stage) spelt(text string) string { return strings.NewReplacer(s.spell...).Replace(text) }

// play is the whole story.
func (s *stage) play(ctx context.Context) (err error) {
	for _, part := range []func(context.Context) error{s.assemble, s.delegate, s.chains} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	if s.Told[0], err = s.delegationPart(ctx, "carrier", 2); err != nil {
		return err
	}
	s.Scenes = s.scenes
	for _, sc := range s.Scenes {
		for steps := sc.Steps; len(steps) > 0; {
			n := 1
			for n < len(steps) && steps[n].during {
				n++
			}
			if err := s.turn(ctx, steps[:n]); err != nil {
				return err
			}
			steps = steps[n:]
		}
	}
	if s.Told[1], err = s.delegationPart(ctx, "auditor", 0); err != nil {
		return err
	}
	return s.audit(ctx)
}

// assemble makes the users, what they have, and their agents. Those have keys and
// namespaces of their own, and no bounds: whatever one may not do here, it may not
// for want of a delegation.
func (s *stage) assemble(ctx context.Context) error {
	s.users, s.agents = make(map[string]*venue.User), make(map[string]*venue.Agent)
	for _, m := range s.cast {
		if m.Owner == "" {
			user, err := s.v.User(ctx, m.Name)
			if err != nil {
				return err
			}
			s.users[m.Name], m.DID = user, user.DID().String()
			var list struct{ Count int }
			if err := s.ask(ctx, m.Name, &list, "covia:list", object{"path": "w"}); err != nil {
				return err
			}
			if list.Count > 0 {
				return fmt.Errorf("%s holds data of a user %s already, which the demo would change: give an empty folder with --data", s.dir, m.Name)
			}
		} else {
			agent, err := s.users[m.Owner].CreateAgent(ctx, agents.Spec{
				ID: m.Name, Description: m.Role, Identity: agents.IdentityOwn,
				Prompt: "You are the " + m.Name + ".", Tools: []string{"covia:*", "ucan:*"},
			})
			if err != nil {
				return err
			}
			info, err := agent.Info(ctx)
			if err != nil {
				return err
			}
			s.agents[m.Name], m.DID = agent, info.DID
		}
		s.Cast = append(s.Cast, m)
		s.spell, s.names = append(s.spell, "{"+m.Name+"}", m.DID), append(s.names, m.DID, m.Name)
	}
	for _, has := range s.had {
		var out any
		if err := s.ask(ctx, has[0], &out, "covia:write", object{"path": has[1], "value": json.RawMessage(has[2])}); err != nil {
			return err
		}
	}
	return nil
}

// delegate makes the links: users in person, agents by a tool call.
func (s *stage) delegate(ctx context.Context) error {
	for i, l := range s.links {
		var out struct{ Tokens []delegation.Token }
		if s.users[l.from] != nil {
			if err := s.ask(ctx, l.from, &out, "ucan:delegate", json.RawMessage(s.spelt(l.input()))); err != nil {
				return fmt.Errorf("%w: %s delegates to %s: %w", errUnexpected, l.from, l.to, err)
			}
		} else {
			done := []step{handOn("delegates to "+l.to, l)}
			if err := s.turn(ctx, done); err != nil {
				return err
			}
			_ = json.Unmarshal(done[0].Result, &out) // no token where it was refused
		}
		if len(out.Tokens) != 1 {
			return fmt.Errorf("%w: %s", errUnexpected, strings.Join(append(s.Unexpected, l.from+" has no token for "+l.to), "; "))
		}
		cid := out.Tokens[0].CID
		s.cids, s.names, s.spell = append(s.cids, cid), append(s.names, cid, short(cid)), append(s.spell, fmt.Sprintf("{link %d}", i), cid)
	}
	return nil
}

// ask runs an operation for a user and decodes its result.
func (s *stage) ask(ctx context.Context, user string, into any, operation string, input any) error {
	raw, err := s.users[user].Invoke(ctx, operation, input)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// chains asks for the chains that the story rests on, before anything is done by
// them: root first.
func (s *stage) chains(ctx context.Context) error {
	for _, leaf := range s.leaves {
		l := s.links[leaf]
		var v delegation.Verdict
		err := s.ask(ctx, l.owner(), &v, "ucan:verify", object{"caller": s.spelt("{" + l.to + "}"), "can": l.can, "with": s.spelt(l.on)})
		if err != nil {
			return err
		}
		if v.Decision != tools.Allowed {
			s.surprise("%s on %s for %s: %s", l.can, l.on, l.to, v.Reason)
		}
		slices.Reverse(v.Chain)
		s.Chains = append(s.Chains, v.Chain)
	}
	return nil
}

// delegationPart returns the part of an agent's prompt on what is delegated to it, which must
// list so many.
func (s *stage) delegationPart(ctx context.Context, agent string, want int) (string, error) {
	b, err := s.agents[agent].Brief(ctx)
	if err != nil {
		return "", err
	}
	_, section, _ := strings.Cut(b.System, "## Delegated to you\n")
	section, _, _ = strings.Cut(section, "\n\n")
	if n := strings.Count(section, "\n- "); n != want {
		s.surprise("the prompt of %s lists %d delegations, want %d", agent, n, want)
	}
	return section, nil
}

// audit has the venue sign its ledger, and checks all of it against that.
func (s *stage) audit(ctx context.Context) error {
	if _, err := s.v.Ledger().Checkpoint(ctx); err != nil {
		return err
	}
	found, err := s.v.Ledger().Verify(ctx, nil)
	if s.Rows, s.Verified = found.Rows, err == nil; err != nil {
		s.surprise("the audit ledger: %v", err)
	}
	return ctx.Err()
}
