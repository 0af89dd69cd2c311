package runtime

import (
	"context"
	"encoding/json"
	"iter"
)

// Model answers requests. One call of Generate is one request to a provider;
// the sequence yields the answer while it is made and ends when it is
// complete. An error ends the sequence. When the consumer stops early or ctx
// ends, the model stops its request. A Model is safe for concurrent use.
//
// Configurations find models through [Providers], by name.
type Model interface {
	Generate(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// ModelFunc makes a Model of a function.
type ModelFunc func(ctx context.Context, req *Request) iter.Seq2[Chunk, error]

// Generate calls f.
func (f ModelFunc) Generate(ctx context.Context, req *Request) iter.Seq2[Chunk, error] {
	return f(ctx, req)
}

var _ Model = ModelFunc(nil)

// Request is one request to a model. A Model must not change or keep it.
type Request struct {
	System   string          // system message, the capability disclosure last
	Messages []Message       // the conversation, oldest first
	Tools    []Tool          // what the model may ask for; already bounded by the agent's capabilities
	Output   json.RawMessage // JSON Schema of the answer; nil for free text
}

// Roles of a [Message].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role   string
	Text   string
	Calls  []ToolCall // of an assistant: the tools that it asked for
	CallID string     // of a tool: the call that this is the result of
	Name   string     // of a tool: its name
}

// ToolCall is a model's wish to call a tool. Arguments are the bytes that came.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Tool is an operation as it is offered to a model.
type Tool struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON Schema
}

// Chunk is a piece of an answer. Any of its parts may be absent.
type Chunk struct {
	Text      string
	Reasoning string
	Call      *CallDelta
	Usage     *Usage // the request's total so far
	Finish    string // why the answer ended, in the provider's word
}

// CallDelta is a piece of a tool call. Pieces with one index belong to one
// call: the id and name come once, the arguments are appended.
type CallDelta struct {
	Index     int
	ID        string
	Name      string
	Arguments string
}

// Usage counts tokens.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

func (u *Usage) add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
}
