package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/tools/schema"
	"usher/ucan"
)

// chatPath is the operation by which somebody says something to an agent.
const chatPath = "v/ops/agent/chat"

// chat is the input of the run of a chat that brings more along than a text: what a run that
// begins once more takes.
type chat struct {
	Message string           `json:"message"`
	Tools   []runtime.Tool   `json:"tools,omitempty"`
	Answers []runtime.Answer `json:"answers,omitempty"`
}

// inputOf is what is said, as the input of a run.
func inputOf(say *runtime.Say) (json.RawMessage, error) {
	if say.Tools == nil && say.Answers == nil {
		return json.Marshal(say.Text)
	}
	return json.Marshal(chat{say.Text, say.Tools, say.Answers})
}

// sayOf reads what a run begins with.
func sayOf(op string, input json.RawMessage, say *runtime.Say) (err error) {
	if op == chatPath && len(input) > 0 && input[0] == '{' {
		var c chat
		err = json.Unmarshal(input, &c)
		say.Text, say.Tools, say.Answers = c.Message, c.Tools, c.Answers
		return err
	}
	say.Text, err = taskText(input)
	return err
}

// brings takes what whoever talks brings along into a conversation: tools of their own, which
// shadow none of the venue's and of the agent's, and answers to what is pending.
func (r *Room) brings(ctx context.Context, call tools.Call, c *conversation, in *agents.Chat) error {
	for i, t := range in.Tools {
		if r.hasTool(call.Owner(), c.actor, t.Name) {
			return fault.New(fault.InvalidInput, fmt.Sprintf("tools[%d].name is %q, as a tool of the venue or the agent: give another", i, t.Name))
		}
		if len(t.Parameters) == 0 {
			t.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		if _, err := schema.Compile(ctx, t.Parameters, call.Meter().ChargeSchema); err != nil {
			return fmt.Errorf("tools[%d].parameters: %w", i, err)
		}
		c.say.Tools = append(c.say.Tools, runtime.Tool{Name: t.Name, Description: t.Description, Input: t.Parameters})
	}
	for _, a := range in.Answers {
		c.say.Answers = append(c.say.Answers, runtime.Answer{CallID: a.ID, Text: a.Content, Failed: a.Failed})
	}
	if call.Key() != "" {
		return nil // it may be made once more, and its run have taken them
	}
	return c.session.Expects(c.say.Answers)
}

// hasTool reports whether a name means a tool of the venue or the agent, or looks like one.
func (r *Room) hasTool(owner ucan.DID, actor *runtime.Agent, name string) bool {
	is := func(op *tools.Operation) bool {
		return op != nil && agents.Fold(op.ToolName()) == agents.Fold(name)
	}
	return slices.ContainsFunc(r.Registry.Of(owner), is) || slices.ContainsFunc(actor.Tools, is) || is(actor.Complete) || is(actor.Fail)
}

// openCallsOf are the calls that a turn leaves to whoever talks.
func openCallsOf(c *conversation) (list []agents.ClientCall) {
	for _, call := range c.pending {
		list = append(list, agents.ClientCall{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	return list
}
