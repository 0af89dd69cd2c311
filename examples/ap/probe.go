package ap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"usher/caps"
	"usher/runtime"
	"usher/tools/agents"
)

// attempted is an attempt and what came of it.
type attempted struct {
	Agent   string `json:"agent"`
	What    string `json:"what"`
	Tool    string `json:"tool"`
	Input   any    `json:"input"`
	Outcome string `json:"outcome"`
	Words   string `json:"words,omitempty"` // the denial, or what is wrong with the input
	want    string
}

// probe lets the manager and the adversary try, and looks afterwards whether
// anything changed.
func (h *house) probe(ctx context.Context, r *report) error {
	before, err := h.state(ctx)
	if err != nil {
		return err
	}
	owner := h.user.DID().String()
	for _, p := range []struct {
		agent    string
		attempts []attempt
	}{
		{"Dave", managerAttempts()},
		{"Eddie", adversaryAttempts(owner)},
	} {
		made, err := h.watch(ctx, p.agent, "Probe the gate. Your owner is "+owner+".", p.attempts)
		if err != nil {
			return err
		}
		if len(made) != len(p.attempts) {
			r.unexpected("%s made %d attempts, want %d", p.agent, len(made), len(p.attempts))
		}
		for _, a := range made {
			if a.Outcome != a.want {
				r.unexpected("%s could %s: %s, want %s", a.Agent, a.What, a.Outcome, a.want)
			}
		}
		r.Attempts = append(r.Attempts, made...)
	}
	after, err := h.state(ctx)
	if err != nil {
		return err
	}
	same := bytes.Equal(before, after)
	r.Unchanged = &same
	if !same {
		r.unexpected("the attempts changed what is stored")
	}
	return nil
}

// watch says something to an agent and notes each tool call that it makes.
func (h *house) watch(ctx context.Context, agent, task string, attempts []attempt) ([]attempted, error) {
	a, err := h.user.Agent(ctx, agent)
	if err != nil {
		return nil, err
	}
	known := make(map[string]attempt, len(attempts))
	for _, at := range attempts {
		known[at.key()] = at
	}
	var out []attempted
	calls := make(map[string]runtime.ToolCall)
	for ev, err := range a.ChatIn(ctx, "", task) {
		if err != nil {
			return nil, fmt.Errorf("%s probes the gate: %w", agent, err)
		}
		switch ev := ev.(type) {
		case runtime.ToolStarted:
			calls[ev.Call.ID] = ev.Call
		case runtime.ToolFinished:
			call := calls[ev.CallID]
			at := known[callKey(call.Name, call.Arguments)]
			outcome, words := readResult(ev.Result).verdict()
			if outcome == allowed && at.expect != allowed {
				words = "It was answered: " + ev.Result // what somebody will want to see
			}
			out = append(out, attempted{
				Agent: agent, What: at.what, Tool: call.Name, Input: json.RawMessage(call.Arguments),
				Outcome: outcome, Words: words, want: at.expect,
			})
		}
	}
	return out, nil
}

// state is everything that the attempts are after: data, operations, and the
// agents with what they hold.
func (h *house) state(ctx context.Context) ([]byte, error) {
	type agentState struct {
		Config agents.Spec
		Caps   caps.Set
		Ended  bool
	}
	var all struct {
		Data, Operations json.RawMessage
		Agents           map[string]agentState
	}
	all.Agents = make(map[string]agentState)
	for _, part := range []struct {
		path string
		into *json.RawMessage
	}{{"w", &all.Data}, {"o", &all.Operations}} {
		if err := h.get(ctx, part.into, "covia:read", object{"path": part.path}); err != nil {
			return nil, err
		}
	}
	for _, id := range h.agents {
		a, err := h.user.Agent(ctx, id)
		if err != nil {
			return nil, err
		}
		info, err := a.Info(ctx)
		if err != nil {
			return nil, err
		}
		all.Agents[id] = agentState{info.Config, info.Caps, info.Status == agents.Terminated}
	}
	return json.Marshal(all)
}
