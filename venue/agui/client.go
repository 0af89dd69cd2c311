package agui

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"usher/tools/agents"
	"usher/venue"
)

// clientTool is a tool that a client offers (AG-UI 1.0, "Tools").
type clientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// offer returns the client's tools as agent:chat takes them.
func (in *input) offer() (list []agents.ClientTool) {
	for _, t := range in.Tools {
		if string(t.Parameters) == "null" {
			t.Parameters = nil
		}
		list = append(list, agents.ClientTool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	return list
}

// answers are what the client answers to calls of its tools: the messages of tools at the
// end of those that it sends. What the venue told it itself, by the id that [lane.result] gives,
// is none. Before a message of the user's those alone count that answer what is pending: the
// others are of runs before.
func (in *input) answers(ctx context.Context, p *venue.Principal, agent string) (list []agents.ClientAnswer, err error) {
	var pending []string
	said := in.Messages.last.Role == user
	if said && len(in.Messages.results) > 0 {
		th, err := p.Thread(ctx, agent, in.session())
		if err != nil {
			return nil, nil //nolint:nilerr // nothing is pending in a thread that is not there
		}
		if pending, err = th.OpenCalls(ctx); err != nil {
			return nil, err
		}
	}
	for _, m := range in.Messages.results {
		if m.ID == m.CallID+resultMark || said && !slices.Contains(pending, m.CallID) {
			continue
		}
		text, err := textOf(fmt.Sprintf("the content of the result of %.80q", m.CallID), m.Content)
		if err != nil {
			return nil, err
		}
		if m.Error != "" {
			text = m.Error + "\n" + text
		}
		list = append(list, agents.ClientAnswer{ID: m.CallID, Content: text, Failed: m.Error != ""})
	}
	return list, nil
}
