package openai

import (
	"encoding/json"
	"fmt"

	vendor "github.com/sashabaranov/go-openai"

	"usher/caps/value"
	"usher/runtime"
	"usher/runtime/endpoint"
)

// request is the body of a request. Some fields of the library's type are
// replaced, because it leaves out what is zero: a temperature of 0, an empty
// tool result, the arguments of a call without any.
type request struct {
	vendor.ChatCompletionRequest
	Messages          []sent   `json:"messages"`
	Temperature       *float64 `json:"temperature,omitempty"`
	TopP              *float64 `json:"top_p,omitempty"`
	ParallelToolCalls *bool    `json:"parallel_tool_calls,omitempty"`
}

// sent is a message of a request.
type sent struct {
	Role    string     `json:"role"`
	Content *string    `json:"content"` // null beside tool calls, as in the answers that they come from
	Calls   []sentCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`

	Reasoning string `json:"reasoning_content,omitempty"`
}

type sentCall struct {
	ID       string          `json:"id"`
	Type     vendor.ToolType `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// maxToolName is how long OpenAI lets a tool's name be.
const maxToolName = 64

// body encodes req.
func (m *Model) body(req *runtime.Request) ([]byte, error) {
	o := &m.opts
	out := request{Temperature: o.Temperature, TopP: o.TopP}
	out.Model = o.Model
	out.Seed = o.Seed
	out.ReasoningEffort = o.ReasoningEffort
	if o.LegacyMaxTokens {
		out.MaxTokens = o.MaxTokens //nolint:staticcheck // older servers know no other
	} else {
		out.MaxCompletionTokens = o.MaxTokens
	}
	out.Stream = !bool(o.NoStream)
	if out.Stream && !bool(o.NoStreamUsage) {
		out.StreamOptions = &vendor.StreamOptions{IncludeUsage: true}
	}
	for _, tool := range req.Tools {
		parameters := tool.Input
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, vendor.Tool{
			Type:     vendor.ToolTypeFunction,
			Function: &vendor.FunctionDefinition{Name: tool.Name, Description: tool.Description, Parameters: parameters},
		})
	}
	if len(req.Tools) > 0 {
		out.ParallelToolCalls = o.ParallelToolCalls // without tools, OpenAI refuses it
	}
	out.ResponseFormat = format(o.Output, req.Output)
	var err error
	if out.Messages, err = messages(req, o.SendReasoning); err != nil {
		return nil, err
	}
	if f := out.ResponseFormat; f != nil && f.Type == vendor.ChatCompletionResponseFormatTypeJSONObject {
		tellSchema(&out, req)
	}
	raw, err := value.Encode(out)
	if err != nil {
		return nil, fmt.Errorf("encode request to model %s: %w", o.Model, err)
	}
	return raw, nil
}

// messages writes the conversation, the system message first. What led to the
// calls of the turn that runs goes back with reasoning set; of earlier turns it
// is over.
func messages(req *runtime.Request, reasoning bool) ([]sent, error) {
	turn := len(req.Messages)
	for turn > 0 && req.Messages[turn-1].Role != runtime.RoleUser {
		turn--
	}
	out := make([]sent, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, sent{Role: vendor.ChatMessageRoleSystem, Content: &req.System})
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		switch m.Role {
		case runtime.RoleUser:
			out = append(out, sent{Role: vendor.ChatMessageRoleUser, Content: &m.Text})
		case runtime.RoleTool:
			out = append(out, sent{Role: vendor.ChatMessageRoleTool, Content: &m.Text, CallID: m.CallID})
		case runtime.RoleAssistant:
			s := sent{Role: vendor.ChatMessageRoleAssistant, Content: &m.Text}
			if len(m.Calls) > 0 && m.Text == "" {
				s.Content = nil
			}
			if reasoning && i >= turn {
				s.Reasoning = m.Reasoning
			}
			for _, c := range m.Calls {
				sc := sentCall{ID: c.ID, Type: vendor.ToolTypeFunction}
				sc.Function.Name, sc.Function.Arguments = endpoint.ToolName(c.Name, maxToolName), said(c.Arguments)
				s.Calls = append(s.Calls, sc)
			}
			out = append(out, s)
		default:
			return nil, fmt.Errorf("message %d has the role %q: use %s, %s or %s", i, m.Role, runtime.RoleUser, runtime.RoleAssistant, runtime.RoleTool)
		}
	}
	return out, nil
}

// said returns the arguments of an earlier call as servers take them back.
// Many parse them, and would refuse the whole conversation from then on for
// the sake of one call that was not JSON; the call's result tells the model
// what was wrong with it.
func said(arguments string) string {
	if arguments == "" {
		return "{}"
	}
	if json.Valid([]byte(arguments)) {
		return arguments
	}
	raw, err := json.Marshal(map[string]string{"not_json": arguments})
	if err != nil {
		return "{}"
	}
	return string(raw)
}
