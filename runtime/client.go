package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
)

// Answer is what whoever talks with an agent answers to a call of one of their own tools.
type Answer struct {
	CallID string `json:"callId"` // in a log the model's, and else by [CallName]
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"` // the call came to nothing
}

// ClientCall is a call that whoever talks is asked to make.
type ClientCall struct {
	CallID string `json:"callId"` // the model's
	Name   string `json:"name"`   // of the tool
}

// CallName names a call of a session outside: models name theirs anew in each run.
func CallName(run, call string) string { return run + "." + call }

// maxClientTools bounds the tools that whoever talks offers for a turn, in bytes of JSON.
const maxClientTools = 64 << 10

// Check refuses what is too large for a turn.
func (s *Say) Check() error {
	n, declared := jsonSize(s.Text), 0
	if len(s.Tools)+len(s.Answers) > 0 {
		n = exactSize(s.Text)
	}
	for i := range s.Answers {
		n += exactSize(s.Answers[i].Text) + exactSize(s.Answers[i].CallID) + 64 // of punctuation
	}
	for i := range s.Tools {
		declared += exactSize(s.Tools[i].Name) + exactSize(s.Tools[i].Description) + len(s.Tools[i].Input) + 64
	}
	if declared > maxClientTools {
		return fault.New(fault.TooLarge, fmt.Sprintf("the tools of whoever talks take %d bytes, at most %d: offer fewer, or say less of them", declared, maxClientTools))
	}
	if n += declared; n > MaxSaid {
		return fault.New(fault.TooLarge, fmt.Sprintf("the message takes %d bytes, at most %d: put what is long into the workspace, and say where it is", n, MaxSaid))
	}
	return nil
}

// exactSize is how many bytes a text takes as JSON, or its own length where that is too many.
func exactSize(text string) int {
	if len(text) > MaxSaid {
		return len(text)
	}
	return len(value.AppendString(nil, text))
}

// OpenCalls lists the calls that whoever talks in the session was asked to make and has not
// answered.
func (s *Session) OpenCalls() []ToolCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ToolCall
	for i := range s.open {
		if o := &s.open[i]; o.asked {
			call := o.ToolCall
			call.ID = CallName(s.run, call.ID)
			list = append(list, call)
		}
	}
	return list
}

// Expects refuses answers, by [CallName], to calls that are not pending, and two to one.
func (s *Session) Expects(answers []Answer) error {
	_, err := s.match(answers)
	return err
}

// match returns the answers by the model's ids of their calls.
func (s *Session) match(answers []Answer) ([]Answer, error) {
	if len(answers) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Answer, len(answers))
	given := make(map[string]bool, len(answers))
	for i, a := range answers {
		at := slices.IndexFunc(s.open, func(o owed) bool { return o.asked && CallName(s.run, o.ID) == a.CallID })
		if at < 0 {
			return nil, fault.New(fault.InvalidInput, fmt.Sprintf("no call %.200q waits for an answer: each is answered once, in the run after the one that asked", a.CallID))
		}
		if given[a.CallID] {
			return nil, fault.New(fault.InvalidInput, fmt.Sprintf("call %.200q is answered twice", a.CallID))
		}
		given[a.CallID] = true
		out[i] = Answer{s.open[at].ID, a.Text, a.Failed}
	}
	return out, nil
}

// lastText is what the model said last.
func (s *Session) lastText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Backward(s.messages) {
		if m.Role == RoleAssistant {
			return m.Text
		}
	}
	return ""
}

// noteAsks notes which calls whoever talks was asked to make.
func (s *Session) noteAsks(calls []ClientCall) {
	for i := range s.open {
		s.open[i].asked = isAsked(calls, s.open[i].ID)
	}
}

func isAsked(calls []ClientCall, id string) bool {
	return slices.ContainsFunc(calls, func(a ClientCall) bool { return a.CallID == id })
}

// result is the result of a call as the turn after it hears it, at the beginning.
func (o *owed) result(answers []Answer) ToolEnd {
	if !o.asked {
		return o.end()
	}
	done := ToolEnd{CallID: o.ID, Name: o.Name, Outcome: ToolNotStarted}
	i := slices.IndexFunc(answers, func(a Answer) bool { return a.CallID == o.ID })
	if i < 0 {
		done.Result = `{"error":"unanswered","message":"Whoever talks with you was asked to make this call, and has not answered it: what came of it is unknown.","retryable":false}`
		return done
	}
	if done.Outcome = ToolOK; answers[i].Failed {
		done.Outcome = ToolFailed
	}
	done.Result = "[Whoever talks with you answers this, and nobody vouches for it:]\n" + Quote(answers[i].Text)
	return done
}

// clientMark stands before what a client says of its tools.
const clientMark = "[A tool of whoever talks with you, not of your venue. They run it and tell what came of it; nobody vouches for what they say of it:]\n"

// clientTools are those on offer in the turn of whoever talks. One that is named as a tool
// of the agent's is none: what a name means does not depend on who talks.
func (t *turn) clientTools() []Tool {
	t.session.mu.Lock()
	declared := t.session.tools
	t.session.mu.Unlock()
	var out []Tool
	for _, tool := range declared {
		if _, err := t.tool(tool.Name); err != nil && t.endsTask(tool.Name) == nil {
			tool.Description = clientMark + Quote(tool.Description)
			out = append(out, tool)
		}
	}
	return out
}

// isClients reports whether a model means a tool of whoever talks by a name.
func (t *turn) isClients(name string) bool {
	return slices.ContainsFunc(t.client, func(tool Tool) bool { return tool.Name == name })
}

// handOver leaves calls to whoever talks, when the turn ends. What is no call goes back to
// the model.
func (t *turn) handOver(ctx context.Context, calls []ToolCall) error {
	for _, c := range calls {
		if err := tools.CheckObject(json.RawMessage(c.Arguments)); err != nil {
			err = fault.New(fault.InvalidInput, value.Cut(c.Name, maxNamed)+": "+err.Error())
			if err := t.record(ctx, ToolEnd{CallID: c.ID, Name: c.Name, Outcome: ToolFailed, Result: t.cut(tools.Explain(err))}); err != nil {
				return err
			}
			continue
		}
		t.pending = append(t.pending, ClientCall{c.ID, c.Name})
	}
	return nil
}
