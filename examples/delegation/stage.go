package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/runtime"
	"usher/tools/agents"
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
	spell  *strings.Replacer // {NAME} to DID
	names  []string          // pairs: DID and name, and of a CID its end
	cids   []string          // of the links
}

// report is what the demo prints, and with --json what it is as data: DIDs,
// CIDs and words in full.
type report struct {
	Cast       []member   `json:"cast"`
	Chains     [][]linked `json:"chains"` // root first
	Told       []string   `json:"told"`   // the carrier's model on what is delegated to it, and in the end it and the auditor's
	Work       []step     `json:"work"`
	Widenings  []step     `json:"widenings"`
	Signed     [2]int     `json:"signed"` // tokens of the agents, before and after the widenings
	Revocation []step     `json:"revocation"`
	Rows       uint64     `json:"rows"`     // of the ledger
	Verified   bool       `json:"verified"` // all rows are those that were written
	Unexpected []string   `json:"unexpected"`
}

func (s *stage) unexpected(format string, args ...any) {
	s.Unexpected = append(s.Unexpected, s.plain(fmt.Sprintf(format, args...)))
}

// plain writes DIDs as names and CIDs by their ends.
func (s *stage) plain(text string) string { return strings.NewReplacer(s.names...).Replace(text) }

// assemble makes the users, what they have, and their agents. Those have keys and
// namespaces of their own, and no bounds: whatever one may not do here, it may not
// for want of a delegation.
func (s *stage) assemble(ctx context.Context) error {
	s.users, s.agents = make(map[string]*venue.User), make(map[string]*venue.Agent)
	var spell []string
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
		spell, s.names = append(spell, "{"+m.Name+"}", m.DID), append(s.names, m.DID, m.Name)
	}
	s.spell = strings.NewReplacer(spell...)
	for _, k := range s.had {
		var out any
		if err := s.ask(ctx, k.owner, &out, "covia:write", object{"path": k.path, "value": json.RawMessage(k.value)}); err != nil {
			return err
		}
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

// turn has one agent take the steps in one turn, and calls between, which may be
// nil, after the first. It checks what comes of each.
func (s *stage) turn(ctx context.Context, between func() error, steps ...step) ([]step, error) {
	if between != nil {
		s.model.between.Store(&between)
	}
	agent, say := steps[0].Agent, ""
	for _, st := range steps {
		say += s.spell.Replace(st.say) + "\n"
	}
	from, done := uint64(0), 0
	for row, err := range s.v.Ledger().Last(ctx, 0) {
		if from = row.Seq; err != nil {
			return nil, err
		}
		break
	}
	for ev, err := range s.agents[agent].ChatIn(ctx, "", say) {
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", agent, steps[0].Does, err)
		}
		if ev, ok := ev.(runtime.ToolFinished); ok && done < len(steps) {
			if from, err = s.note(ctx, &steps[done], ev, from); err != nil {
				return nil, err
			}
			s.check(&steps[done])
			done++
		}
	}
	if done != len(steps) {
		return nil, fmt.Errorf("%w: %s makes %d calls, was told %d", errUnexpected, agent, done, len(steps))
	}
	return steps, nil
}

// note notes what came of a step: as its agent heard it, and as the ledger has it,
// whose row it returns.
func (s *stage) note(ctx context.Context, st *step, ev runtime.ToolFinished, from uint64) (uint64, error) {
	switch ev.Outcome {
	case runtime.ToolOK:
		st.Outcome, st.Result = allowed, json.RawMessage(ev.Result)
	case runtime.ToolDenied:
		st.Outcome = denied
	default:
		st.Outcome = refused
	}
	if st.Outcome != allowed {
		var failure struct{ Message string }
		if st.Words = ev.Result; json.Unmarshal([]byte(ev.Result), &failure) == nil {
			st.Words = failure.Message
		}
	}
	for row, err := range s.v.Audit(ctx, from+1) {
		if err != nil {
			return 0, err
		}
		if row.Entry != nil && row.Actor == st.Agent && row.Operation == ev.Operation {
			st.Row, st.Needs, st.Reason = row.Seq, row.Needs, row.Reason
			return row.Seq, nil
		}
	}
	return 0, fmt.Errorf("%w: the ledger has no row of %s: %s", errUnexpected, st.Agent, st.Does)
}

// check compares a step with what the story wants. What is allowed in the namespace
// of another rests on the story's own tokens, and on nothing else. Whoever is
// denied is told that nothing is delegated, and no more, whatever the reason.
func (s *stage) check(st *step) {
	if st.Outcome != st.want {
		s.unexpected("%s %s: %s, want %s %s", st.Agent, st.Does, st.Outcome, st.want, st.Words)
	}
	for _, n := range st.Needs {
		if st.Outcome != allowed || !strings.HasPrefix(n.Resource, "did:") {
			continue
		}
		if len(n.Proofs) == 0 || slices.ContainsFunc(n.Proofs, func(cid string) bool { return !slices.Contains(s.cids, cid) }) {
			s.unexpected("row %d: %s on %s rests on %s, want tokens of this story", st.Row, n.Ability, n.Resource, n.Proofs)
		}
	}
	if st.why == nil {
		return
	}
	where := st.Words
	if st.want == denied {
		where = st.Reason
		if !strings.HasSuffix(st.Words, "who has delegated nothing for this call.") {
			s.unexpected("%s %s: the denial says more or less than it should: %s", st.Agent, st.Does, st.Words)
		}
	}
	if !strings.Contains(where, st.why.Error()) {
		s.unexpected("%s %s: the reason is %q, want %q in it", st.Agent, st.Does, where, st.why)
	}
}

// each has the steps taken, each in a turn of its own.
func (s *stage) each(ctx context.Context, steps []step) (out []step, err error) {
	for _, st := range steps {
		done, err := s.turn(ctx, nil, st)
		if err != nil {
			return nil, err
		}
		out = append(out, done...)
	}
	return out, nil
}
