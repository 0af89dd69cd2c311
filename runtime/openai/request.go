package openai

import (
	"encoding/json"
	"fmt"

	"usher/caps/value"
	"usher/runtime"
	"usher/runtime/endpoint"
)

// request is the body of a request.
type request struct {
	Model             string         `json:"model"`
	Messages          []sent         `json:"messages"`
	Tools             []offered      `json:"tools,omitempty"`
	ParallelToolCalls *bool          `json:"parallel_tool_calls,omitempty"`
	MaxTokens         int            `json:"max_tokens,omitempty"` // by the name that older servers know
	MaxCompletion     int            `json:"max_completion_tokens,omitempty"`
	Temperature       *float64       `json:"temperature,omitempty"`
	TopP              *float64       `json:"top_p,omitempty"`
	Seed              *int           `json:"seed,omitempty"`
	ReasoningEffort   string         `json:"reasoning_effort,omitempty"`
	Format            *answerForm    `json:"response_format,omitempty"`
	Stream            bool           `json:"stream"`
	StreamOptions     *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// offered is a tool of a request.
type offered struct {
	Type     string   `json:"type"`
	Function declared `json:"function"`
}

type declared struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
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
	ID       string `json:"id"`
	Type     string `json:"type"`
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
	out := request{
		Model: o.Model, Temperature: o.Temperature, TopP: o.TopP, Seed: o.Seed, ReasoningEffort: o.ReasoningEffort,
		Stream: !bool(o.NoStream), Format: formOf(o.Output, req.Output), Messages: make([]sent, 0, len(req.Messages)+1),
	}
	if o.LegacyMaxTokens {
		out.MaxTokens = o.MaxTokens
	} else {
		out.MaxCompletion = o.MaxTokens
	}
	if out.Stream && !bool(o.NoStreamUsage) {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	for _, tool := range req.Tools {
		parameters := tool.Input
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, offered{toolType, declared{tool.Name, tool.Description, parameters}})
	}
	if len(req.Tools) > 0 {
		out.ParallelToolCalls = o.ParallelToolCalls // without tools, OpenAI refuses it
	}
	system := req.System
	if out.Format != nil && out.Format.Type == outputObject { // which says nothing of the schema
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

const toolType = "function"

// say writes the conversation, the system message first. What led to the calls of
// the turn that runs goes back with reasoning set; of earlier turns it is over.
func (r *request) say(system string, messages []runtime.Message, reasoning bool) error {
	turn := len(messages)
	for turn > 0 && messages[turn-1].Role != runtime.RoleUser {
		turn--
	}
	if system != "" {
		r.Messages = append(r.Messages, sent{Role: "system", Content: &system})
	}
	for i := range messages {
		m := &messages[i]
		s := sent{Role: m.Role, Content: &m.Text}
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
				sc := sentCall{ID: c.ID, Type: toolType}
				sc.Function.Name, sc.Function.Arguments = endpoint.ToolName(c.Name, maxToolName), string(endpoint.Arguments(c.Arguments))
				s.Calls = append(s.Calls, sc)
			}
		default:
			return fmt.Errorf("message %d has the role %q: use %s, %s or %s", i, m.Role, runtime.RoleUser, runtime.RoleAssistant, runtime.RoleTool)
		}
		r.Messages = append(r.Messages, s)
	}
	return nil
}
