package ap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
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
	want    string // empty where it is a model's judgement
}

// probe lets the manager and the adversary try, and looks afterwards whether
// anything changed.
func (h *house) probe(ctx context.Context, r *report) error {
	var err error
	if r.worked, err = h.lastRow(ctx); err != nil {
		return err
	}
	before, err := h.state(ctx, "w", "o")
	if err != nil {
		return err
	}
	h.at = "the attempts"
	tried := h.tryAll(ctx, r)
	if _, stopped := errors.AsType[*failure](tried); tried != nil && !stopped {
		return tried
	}
	after, err := h.state(ctx, "w", "o")
	if err != nil {
		return err
	}
	same := bytes.Equal(before, after)
	r.Unchanged = &same
	if !same {
		r.unexpected("the attempts changed what is stored")
	}
	return tried
}

// tryAll has the attempts made, and compares what came of each with what must.
func (h *house) tryAll(ctx context.Context, r *report) error {
	owner := h.user.DID().String()
	for _, p := range []struct {
		agent    string
		attempts []attempt
	}{
		{"Dave", managerAttempts()},
		{"Eddie", adversaryAttempts(owner)},
	} {
		made, err := h.watch(ctx, p.agent, "Probe the gate. Your owner is "+owner+".", p.attempts)
		if err == nil && len(made) != len(p.attempts) {
			r.unexpected("%s made %d attempts, want %d", p.agent, len(made), len(p.attempts))
		}
		for _, a := range made {
			if a.want != "" && a.Outcome != a.want {
				r.unexpected("%s could %s: %s, want %s", a.Agent, a.What, a.Outcome, a.want)
			}
		}
		r.Attempts = append(r.Attempts, made...)
		if err != nil {
			return err
		}
	}
	return nil
}

// watch says something to an agent and notes each tool call that it makes, also
// those before an error.
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
	var from uint64
	for ev, err := range a.ChatIn(ctx, "", task) {
		if err != nil {
			return out, fmt.Errorf("%s probes the gate: %w", agent, err)
		}
		switch ev := ev.(type) {
		case runtime.ToolStarted:
			calls[ev.Call.ID] = ev.Call
			if h.plugged.behind(known[callKey(ev.Call.Name, ev.Call.Arguments)].asks()) {
				if from, err = h.lastRow(ctx); err != nil {
					return out, err
				}
			}
		case runtime.ToolFinished:
			call := calls[ev.CallID]
			at := known[callKey(call.Name, call.Arguments)]
			outcome, words := readResult(ev.Result).verdict()
			if asked := at.asks(); h.plugged.behind(asked) {
				if outcome, words, err = h.answered(ctx, asked, from, ev.Result); err != nil {
					return out, err
				}
				at.expect = ""
			}
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

// answered is what came of asking an agent whose model is not ours: a denial
// only where the ledger has one from then on, whatever the model says. A turn
// that failed is no answer. That nothing is recorded shows in what is stored.
func (h *house) answered(ctx context.Context, asked string, from uint64, result string) (outcome, words string, err error) {
	for row, err := range h.v.Audit(ctx, from+1) {
		if err != nil {
			return "", "", err
		}
		if row.Entry != nil && row.Actor == asked && row.Verdict == tools.Denied {
			return denied, row.Reason, nil
		}
	}
	if f := h.plugged.failed(); f != nil {
		return "", "", f
	}
	if r := readResult(result); r.problem != "" {
		return failed, r.problem, nil
	}
	return byModel, "It answered: " + result, nil
}

// lastRow is the number of the ledger's last row.
func (h *house) lastRow(ctx context.Context) (seq uint64, err error) {
	for row, err := range h.v.Audit(ctx, 0) {
		if err != nil {
			return 0, err
		}
		seq = row.Seq
	}
	return seq, nil
}

// state is what lies at some paths, and the agents with what they hold.
func (h *house) state(ctx context.Context, paths ...string) ([]byte, error) {
	type agentState struct {
		Config agents.Spec
		Caps   caps.Set
		Ended  bool
	}
	var all struct {
		Data   []json.RawMessage
		Agents map[string]agentState
	}
	all.Data, all.Agents = make([]json.RawMessage, len(paths)), make(map[string]agentState)
	for i, path := range paths {
		if err := h.get(ctx, &all.Data[i], "covia:read", object{"path": path}); err != nil {
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
