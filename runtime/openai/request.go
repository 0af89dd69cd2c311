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
// tool result.
type request struct {
	vendor.ChatCompletionRequest
	Messages          []requestMessage `json:"messages"`
	Temperature       *float64         `json:"temperature,omitempty"`
	TopP              *float64         `json:"top_p,omitempty"`
	ParallelToolCalls *bool            `json:"parallel_tool_calls,omitempty"`
}

// requestMessage is a message of a request.
type requestMessage struct {
	Role    string            `json:"role"`
	Content *string           `json:"content"` // null beside tool calls, as in the answers that they come from
	Calls   []vendor.ToolCall `json:"tool_calls,omitempty"`
	CallID  string            `json:"tool_call_id,omitempty"`

	Reasoning string `json:"reasoning_content,omitempty"`
}

// maxToolName is how long OpenAI lets a tool's name be.
const maxToolName = 64

// body encodes req.
func (m *Model) body(req *runtime.Request) ([]byte, error) {
	o := &m.opts
	out := request{Temperature: o.Temperature, TopP: o.TopP, Messages: make([]requestMessage, 0, len(req.Messages)+1)}
	out.Model, out.Seed, out.ReasoningEffort = o.Model, o.Seed, o.ReasoningEffort
	out.Stream, out.ResponseFormat = !bool(o.NoStream), formOf(o.Output, req.Output)
	if o.LegacyMaxTokens {
		out.MaxTokens = o.MaxTokens //nolint:staticcheck // older servers know no other
	} else {
		out.MaxCompletionTokens = o.MaxTokens
	}
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
	system := req.System
	if out.ResponseFormat != nil && out.ResponseFormat.JSONSchema == nil { // which says nothing of the schema
		system = endpoint.WithSchema(system, req.Output)
	}
	if err := out.say(system, req.Messages, o.SendReasoning); err != nil {
		return nil, err
	}
	raw, err := value.Encode(out)
	if err != nil {
		return nil, fmt.Errorf("encode request to model %s: %w", o.Model, err)
	}
	return raw, nil
}

// say writes the conversation, the system message first. What led to the calls of
// the turn that runs goes back with reasoning set; of earlier turns it is over.
func (r *request) say(system string, messages []runtime.Message, reasoning bool) error {
	turn := len(messages)
	for turn > 0 && messages[turn-1].Role != runtime.RoleUser {
		turn--
	}
	if system != "" {
		r.Messages = append(r.Messages, requestMessage{Role: vendor.ChatMessageRoleSystem, Content: &system})
	}
	for i := range messages {
		m := &messages[i]
		s := requestMessage{Role: m.Role, Content: &m.Text}
		switch m.Role {
		case runtime.RoleUser:
		case runtime.RoleTool:
			s.CallID = m.CallID
		case runtime.RoleAssistant:
			if len(m.Calls) > 0 && m.Text == "" {
				s.Content = nil
			}
			if reasoning && i >= turn {
				s.Reasoning = m.Reasoning
			}
			for _, c := range m.Calls {
				f := vendor.FunctionCall{Name: endpoint.ToolName(c.Name, maxToolName), Arguments: string(endpoint.Arguments(c.Arguments))}
				s.Calls = append(s.Calls, vendor.ToolCall{ID: c.ID, Type: vendor.ToolTypeFunction, Function: f})
			}
		default:
			return fmt.Errorf("message %d has the role %q: use %s, %s or %s", i, m.Role, runtime.RoleUser, runtime.RoleAssistant, runtime.RoleTool)
		}
		r.Messages = append(r.Messages, s)
	}
	return nil
}
