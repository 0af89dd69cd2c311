package anthropic

import (
	"encoding/json"
	"errors"
)

// The types of the Messages API, as far as it is used here: what is sent, and what comes.
// https://platform.claude.com/docs/en/api/messages

// request is what is sent. Of one that asks for a count of its tokens the fields about the
// answer are left out.
type request struct {
	MaxTokens   int         `json:"max_tokens,omitempty"`
	Messages    []message   `json:"messages"`
	Model       string      `json:"model"`
	Temperature *float64    `json:"temperature,omitempty"`
	TopP        *float64    `json:"top_p,omitempty"`
	System      []block     `json:"system,omitempty"`
	Thinking    *thought    `json:"thinking,omitempty"`
	ToolChoice  *toolChoice `json:"tool_choice,omitempty"`
	Tools       []tool      `json:"tools,omitempty"`
	Stream      bool        `json:"stream,omitempty"`
}

type message struct {
	Content []block `json:"content"`
	Role    string  `json:"role"`
}

// block is a content block, as it is sent, and as it comes: whole, or as it begins.
type block struct {
	ID           string          `json:"id,omitempty"` // of a tool_use, with its input and name
	Input        json.RawMessage `json:"input,omitempty"`
	Name         string          `json:"name,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"` // of a tool_result, with the two that follow
	IsError      bool            `json:"is_error,omitempty"`
	Content      []block         `json:"content,omitempty"`
	Signature    string          `json:"signature,omitempty"` // of thinking
	Thinking     *string         `json:"thinking,omitempty"`  // the same, which may be empty
	Data         string          `json:"data,omitempty"`      // of redacted_thinking
	Text         string          `json:"text,omitempty"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
	Type         string          `json:"type"`
}

func newText(s string) block { return block{Text: s, Type: "text"} }

// ephemeral marks the end of what the API keeps.
var ephemeral = json.RawMessage(`{"type":"ephemeral"}`)

type thought struct {
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
	Type    string `json:"type"` // enabled or adaptive
}

type toolChoice struct {
	Name            string `json:"name,omitempty"`
	DisableParallel bool   `json:"disable_parallel_tool_use,omitempty"`
	Type            string `json:"type"` // tool or any
}

type tool struct {
	InputSchema  json.RawMessage `json:"input_schema"`
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
}

// event is one event of a stream, or an answer in one piece.
type event struct {
	whole
	Index        int64 `json:"index"`
	Message      whole `json:"message"`
	ContentBlock block `json:"content_block"`
	Delta        struct {
		Type        string  `json:"type"`
		Text        string  `json:"text"`
		Thinking    string  `json:"thinking"`
		Signature   string  `json:"signature"`
		PartialJSON string  `json:"partial_json"`
		StopReason  string  `json:"stop_reason"`
		StopDetails refusal `json:"stop_details"`
	} `json:"delta"`
}

// whole is an answer in one piece, and how a stream begins.
type whole struct {
	Type        string  `json:"type"`
	Model       string  `json:"model"`
	Content     []block `json:"content"`
	StopReason  string  `json:"stop_reason"`
	StopDetails refusal `json:"stop_details"`
	Usage       usage   `json:"usage"`
}

// usage counts tokens.
type usage struct {
	Input      int64 `json:"input_tokens"` // beside those of the cache
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

type refusal struct {
	Category    string `json:"category"`
	Explanation string `json:"explanation"`
}

// decode reads what the API says. A field that is of another type than it is known to be is
// left out: kinds of events and blocks that are not known may have such.
func decode(data []byte, to any) error {
	err := json.Unmarshal(data, to)
	if _, odd := errors.AsType[*json.UnmarshalTypeError](err); odd {
		return nil
	}
	return err
}
