package runtime

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"usher/tools/spend"
)

// Model answers requests. One call of Generate is one request to a provider;
// the sequence yields the answer while it is made and ends when it is
// complete: one that just ends is a whole answer, so a model whose server broke
// off has to end it with an error. When the consumer stops early or ctx
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
	System   string          `json:"system,omitempty"`   // system message, the capability disclosure last
	Messages []Message       `json:"messages,omitempty"` // the conversation, oldest first
	Tools    []Tool          `json:"tools,omitempty"`    // what the model may ask for; already bounded by the agent's capabilities
	Output   json.RawMessage `json:"output,omitempty"`   // JSON Schema of the answer; nil for free text

	tokens   int      // an estimate of this request
	measured *Request // which request the estimate is of: itself, unless it is a copy

	asker func() string // see Asker; nil is nobody
}

// Asker names whose turn the request is of: the agent, with whoever it works for and what
// bounds them ([tools.Authority.Who]). It is empty for a request of no turn. What one is
// answered is for no other, also where both ask the same.
func (r *Request) Asker() string {
	if r.asker == nil {
		return ""
	}
	return r.asker()
}

// Roles of a [Message].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role  string     `json:"role"`
	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"` // of an assistant: the tools that it asked for

	// Reasoning is what led an assistant to its calls, where the provider shows
	// it: some models are to get it back with the results.
	Reasoning string `json:"reasoning,omitempty"`

	CallID string `json:"callId,omitempty"` // of a tool: the call that this is the result of
	Name   string `json:"name,omitempty"`   // of a tool: its name
	Failed bool   `json:"failed,omitempty"` // of a tool: the call was refused, or came to nothing
	Sealed bool   `json:"-"`                // of a tool: what went in or came out holds a secret
}

// ToolCall is a model's wish to call a tool. Arguments are the bytes that came.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Sealed    bool   `json:"sealed,omitempty"` // the tool gives or takes a secret: no record has the arguments
	Client    bool   `json:"client,omitempty"` // the tool is one of whoever talks, who makes the call
}

// Tool is an operation as it is offered to a model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"` // JSON Schema
}

// Chunk is a piece of an answer. Any of its parts may be absent.
type Chunk struct {
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	Call      *CallDelta `json:"call,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`  // the request's total so far
	Finish    string     `json:"finish,omitempty"` // why the answer ended, in the provider's word
	Model     string     `json:"model,omitempty"`  // which model answers, in the provider's word; once is enough
	Delay     *Delay     `json:"-"`                // why the answer does not come yet; it stands alone and is no part of the answer
}

// NoCallError is what an error implements that knows whether a model was asked before
// it came: a refusal by a bound of the caller's is no call.
type NoCallError interface {
	error
	IsNoCall() bool
}

// ModelError says that a turn has no answer of its model, after all that was tried
// anew; or that it was not asked, where [NoCallError] says so.
type ModelError struct{ Err error }

func (e *ModelError) Error() string { return e.Err.Error() }
func (e *ModelError) Unwrap() error { return e.Err }

// Delay says why an answer does not come yet: a call of the model failed and is
// made again, another model is asked, or the call waits for its turn.
type Delay struct {
	Reason string        // the failure, or what is waited for
	Wait   time.Duration // until the next call
	Next   string        // the model that is asked instead; "" is the same one
	Try    int           // number of the next call, from 1; 0 where none was made
	Tries  int           // calls that there may be
}

// CallDelta is a piece of a tool call. Pieces with one index belong to one
// call: the id and name come once, the arguments are appended.
type CallDelta struct {
	Index     int    `json:"index"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// Usage counts tokens, and what they cost where the model's price is known.
type Usage = spend.Usage
