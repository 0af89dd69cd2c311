// Package openai asks language models that speak the Chat Completions format:
// OpenAI and Azure, and the many servers that copied the format, such as
// Ollama, vLLM, OpenRouter, Groq, DeepSeek and whatever runs on this machine.
//
// Configurations name it "openai" and start at [Provider]; programs start at
// [New]. One call of [Model.Generate] is one HTTP request. Nothing is tried
// again here: errors say whether that is worth it (see [endpoint.Error]),
// and models over models act on it.
//
// Servers differ in what they make of the format. What is done about it: tool
// calls are told apart by index, id and name, whichever of them is of use; an
// answer that breaks off is [endpoint.ErrCut], never a shorter answer, and so is
// one that the limit on tokens cuts.
package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	vendor "github.com/sashabaranov/go-openai"

	"usher/caps/value"
	"usher/runtime"
	"usher/runtime/endpoint"
)

// Name is the provider's name in configurations.
const Name = "openai"

// Model is a model behind one endpoint. It is safe for concurrent use. It
// prints without its key, names OpenAI or Azure as its provider, as other servers
// of the format do not say who they are, and knows of no window.
type Model struct {
	*endpoint.Server
	opts Options // without the key and the headers
}

var (
	_ runtime.Model     = (*Model)(nil)
	_ runtime.Describer = (*Model)(nil)
)

// Generate sends the request and yields the answer as it comes. The errors of
// the sequence are [*endpoint.Error] for what the server says is wrong,
// [endpoint.ErrRefused], [endpoint.ErrFiltered], [endpoint.ErrCut],
// [endpoint.ErrFormat], [endpoint.ErrTimeout], the cause of ctx, or a failure to
// reach the server.
func (m *Model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return m.Chunks(ctx, func(x *endpoint.Exchange) ([]byte, endpoint.Answer, error) {
		body, err := m.body(req)
		return body, &answer{Exchange: x, tools: req.Tools}, err
	})
}

// request is the body of a request. Some fields of the library's type are
// replaced, because it leaves out what is zero: a temperature of 0, an empty
// tool result.
type request struct {
	vendor.ChatCompletionRequest
	Messages          []sent   `json:"messages"`
	Temperature       *float64 `json:"temperature,omitempty"`
	TopP              *float64 `json:"top_p,omitempty"`
	ParallelToolCalls *bool    `json:"parallel_tool_calls,omitempty"`
}

// sent is a message of a request.
type sent struct {
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
	out := request{Temperature: o.Temperature, TopP: o.TopP, Messages: make([]sent, 0, len(req.Messages)+1)}
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
		r.Messages = append(r.Messages, sent{Role: vendor.ChatMessageRoleSystem, Content: &system})
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
