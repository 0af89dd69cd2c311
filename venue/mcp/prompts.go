package mcp

import (
	"cmp"
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools/agents"
	"usher/tools/content"
	"usher/tools/fault"
)

// Prompt is an operation that is offered as a prompt, to whoever could call it: its input
// is the prompt's arguments, which are texts, and its output content of the messages, see
// [content.Output], or else text.
type Prompt struct {
	Name, Title, Description string
	Arguments                []*sdk.PromptArgument
	Operation                string // path
}

// listPrompts lists the prompts, on one page: those of agents that the caller may read, by
// their ids, and those of operations.
func (d *desk) listPrompts(ctx context.Context, c *caller, params *sdk.ListPromptsParams) (sdk.Result, error) {
	if params != nil && params.Cursor != "" {
		return nil, errCursor
	}
	list := &sdk.ListPromptsResult{Prompts: []*sdk.Prompt{}, Cacheable: sdk.Cacheable{CacheScope: private}}
	for i := range d.prompts {
		p := &d.prompts[i]
		if _, err := c.Operation(ctx, p.Operation); err == nil {
			list.Prompts = append(list.Prompts, &sdk.Prompt{Name: p.Name, Title: p.Title, Description: p.Description, Arguments: p.Arguments})
		}
	}
	readable, err := c.Readable(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range readable {
		if d.prompt(a.AgentID) == nil {
			list.Prompts = append(list.Prompts, &sdk.Prompt{Name: a.AgentID, Title: a.AgentID, Description: cmp.Or(a.Description, "What the agent "+a.AgentID+" is told to do.")})
		}
	}
	return list, nil
}

func (d *desk) prompt(name string) *Prompt {
	for i := range d.prompts {
		if d.prompts[i].Name == name {
			return &d.prompts[i]
		}
	}
	return nil
}

var errNoPrompt = fault.New(fault.NotFound, "there is no prompt of that name: list them (prompts/list)")

func (d *desk) getPrompt(ctx context.Context, c *caller, params *sdk.GetPromptParams) (sdk.Result, error) {
	p := d.prompt(params.Name)
	if p == nil {
		return d.agentPrompt(ctx, c, params.Name)
	}
	input, err := json.Marshal(params.Arguments)
	if err != nil {
		return nil, err
	}
	if len(params.Arguments) == 0 {
		input = json.RawMessage("{}")
	}
	m := &message{"prompts/get", params.Name, input, params.GetProgressToken(), params.InputResponses, params.RequestState}
	out, asks, err := d.operate(ctx, c, m, p.Operation)
	if err != nil {
		return nil, err
	}
	if asks != nil {
		return asks, nil
	}
	return answerOf(c, map[string]any{"description": p.Description, "messages": messages(out)}), nil
}

// messages are the messages of a prompt: a block each.
func messages(out json.RawMessage) []any {
	var as content.Output
	if json.Unmarshal(out, &as) != nil || as.Content == nil {
		as = content.Of(content.Text(plain(out)))
	}
	list := make([]any, len(as.Content))
	for i, block := range as.Content {
		list[i] = map[string]any{"role": "user", "content": block}
	}
	return list
}

// plain is a text as it is, and any other value as JSON.
func plain(out json.RawMessage) string {
	var s string
	if json.Unmarshal(out, &s) == nil {
		return s
	}
	return string(out)
}

// agentPrompt is what an agent is told to do, for whoever may read the agent.
func (d *desk) agentPrompt(ctx context.Context, c *caller, id string) (sdk.Result, error) {
	if agents.CheckID(id) != nil {
		return nil, errNoPrompt
	}
	raw, err := c.Invoke(ctx, "agent:info", agents.Ref{AgentID: id})
	if err != nil {
		return nil, err
	}
	var info struct {
		Config struct {
			Prompt      string `json:"prompt"`
			Description string `json:"description"`
		} `json:"config"`
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return nil, err
	}
	return answerOf(c, map[string]any{
		"description": info.Config.Description,
		"messages":    []any{map[string]any{"role": "user", "content": text(info.Config.Prompt)}},
	}), nil
}
