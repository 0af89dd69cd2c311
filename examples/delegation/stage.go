package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"usher/runtime"
	"usher/tools/delegation"
	"usher/venue"
)

// stage is where the story is played.
type stage struct {
	v      *venue.Venue
	model  *model
	plan   plan
	dir    string
	cids   []string          // of the plan's links
	toDID  *strings.Replacer // {NAME} to DID
	names  []string          // pairs of DID and name
	report *report
}

func (s *stage) run(ctx context.Context) error {
	for _, scene := range []func(context.Context) error{
		s.assemble, s.delegate, s.chains, s.tell, s.work, s.widen, s.revoke, s.look, s.audit,
	} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

// delegate makes the links: users in person, agents by a tool call.
func (s *stage) delegate(ctx context.Context) error {
	for _, l := range s.plan.links {
		var raw json.RawMessage
		if from := s.member(l.from); from.Kind == isUser {
			var err error
			if raw, err = from.user.Invoke(ctx, "ucan:delegate", json.RawMessage(s.toDID.Replace(l.input()))); err != nil {
				return fmt.Errorf("%w: %s delegates to %s: %w", ErrUnexpected, l.from, l.to, err)
			}
		} else {
			done, err := s.act(ctx, nil, handOn("delegates to "+l.to, l))
			if err != nil {
				return err
			}
			if done[0].Outcome != allowed {
				return fmt.Errorf("%w: %s delegates to %s: %s", ErrUnexpected, l.from, l.to, s.plain(done[0].Words))
			}
			raw = done[0].Result
		}
		var out struct{ Tokens []delegation.Token }
		if err := json.Unmarshal(raw, &out); err != nil {
			return err
		}
		if len(out.Tokens) != 1 {
			return fmt.Errorf("%w: %s delegates to %s: %d tokens, want 1", ErrUnexpected, l.from, l.to, len(out.Tokens))
		}
		s.cids = append(s.cids, out.Tokens[0].CID)
	}
	return nil
}

// act has one agent take the steps in one turn, and calls between, which may
// be nil, after the first.
func (s *stage) act(ctx context.Context, between func() error, steps ...step) ([]tried, error) {
	agent := s.member(steps[0].agent).agent
	if between != nil {
		s.model.between.Store(&between)
	}
	var say []string
	for _, st := range steps {
		say = append(say, s.toDID.Replace(st.say))
	}
	var out []tried
	var call runtime.ToolCall
	for ev, err := range agent.ChatIn(ctx, "", strings.Join(say, "\n")) {
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", steps[0].agent, steps[0].does, err)
		}
		switch ev := ev.(type) {
		case runtime.ToolStarted:
			call = ev.Call
		case runtime.ToolFinished:
			if len(out) == len(steps) {
				return nil, fmt.Errorf("%w: %s makes more calls than it was told", ErrUnexpected, agent.ID())
			}
			st := steps[len(out)]
			out = append(out, attempt(st, call, ev))
		}
	}
	if len(out) != len(steps) {
		return nil, fmt.Errorf("%w: %s makes %d calls, was told %d", ErrUnexpected, agent.ID(), len(out), len(steps))
	}
	return out, nil
}

// attempt is what came of a step, as its agent heard it.
func attempt(st step, call runtime.ToolCall, ev runtime.ToolFinished) tried {
	t := tried{Agent: st.agent, Does: st.does, Tool: call.Name, Input: json.RawMessage(call.Arguments), step: st}
	if ev.Outcome == runtime.ToolOK {
		t.Outcome, t.Result = allowed, json.RawMessage(ev.Result)
		return t
	}
	t.Outcome = refused
	if ev.Outcome == runtime.ToolDenied {
		t.Outcome = denied
	}
	var failure struct{ Message string }
	if t.Words = ev.Result; json.Unmarshal([]byte(ev.Result), &failure) == nil {
		t.Words = failure.Message
	}
	return t
}

// each has the steps taken, each in a turn of its own.
func (s *stage) each(ctx context.Context, steps []step) ([]tried, error) {
	var out []tried
	for _, st := range steps {
		done, err := s.act(ctx, nil, st)
		if err != nil {
			return nil, err
		}
		out = append(out, done...)
	}
	return out, nil
}

// expect compares what came of steps with what the plan wants. Whoever is
// denied is told that nothing is delegated, and no more, whatever the reason.
func (s *stage) expect(list []tried) {
	for _, t := range list {
		if t.Outcome != t.step.want {
			s.report.unexpected("%s", strings.TrimSpace(fmt.Sprintf("%s %s: %s, want %s %s", t.Agent, t.Does, t.Outcome, t.step.want, t.Words)))
		}
		if t.Outcome == denied && !strings.HasSuffix(t.Words, "who has delegated nothing for this call.") {
			s.report.unexpected("%s %s: the denial says more or less than it should: %s", t.Agent, t.Does, t.Words)
		}
	}
}

// issued counts the tokens that an agent has signed.
func (s *stage) issued(ctx context.Context, agent string) (int, error) {
	done, err := s.act(ctx, nil, step{agent: agent, does: "lists its tokens", say: `call ucan_list {"issued":true}`})
	if err != nil {
		return 0, err
	}
	var list struct{ Tokens []delegation.Token }
	if err := json.Unmarshal(done[0].Result, &list); err != nil {
		return 0, fmt.Errorf("list the tokens of %s: %s: %w", agent, done[0].Words, err)
	}
	return len(list.Tokens), nil
}
