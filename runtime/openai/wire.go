package openai

import (
	"encoding/json"

	vendor "github.com/sashabaranov/go-openai"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// reply is an answer, or a piece of one, as servers send it. The library's
// types for it are not used: they lack what servers other than OpenAI add, and
// they lose half characters.
type reply struct {
	Model   name            `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

// name is a text that every piece of an answer repeats: the first is kept.
type name string

// UnmarshalJSON reads a string, and passes over anything else.
func (n *name) UnmarshalJSON(raw []byte) error {
	if *n == "" && raw[0] == '"' {
		*n = name(unquote(raw[1 : len(raw)-1]))
	}
	return nil
}

type usage struct {
	Prompt     int `json:"prompt_tokens"` // those from the cache included
	Completion int `json:"completion_tokens"`
	Details    struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	Cached int `json:"prompt_cache_hit_tokens"` // DeepSeek
}

func (u *usage) usage() runtime.Usage {
	in := endpoint.Tokens(u.Prompt)
	return runtime.Usage{
		Input: in, Output: endpoint.Tokens(u.Completion),
		CacheRead:  min(endpoint.Tokens(max(u.Details.Cached, u.Cached)), in),
		CacheWrite: min(endpoint.Tokens(u.Details.Written), in),
	}
}

type choice struct {
	Index   int                 `json:"index"`
	Delta   message             `json:"delta"`   // of a stream
	Message *message            `json:"message"` // of a whole answer
	Finish  vendor.FinishReason `json:"finish_reason"`
	Filter  json.RawMessage     `json:"content_filter_results"` // Azure
	Error   json.RawMessage     `json:"error"`                  // OpenRouter
}

type message struct {
	Content          piece     `json:"content"`
	Refusal          piece     `json:"refusal"`
	ReasoningContent piece     `json:"reasoning_content"` // DeepSeek, vLLM
	Reasoning        piece     `json:"reasoning"`         // OpenRouter, Groq, Ollama
	Calls            []call    `json:"tool_calls"`
	Function         *function `json:"function_call"` // of servers that know one call only
}

type call struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

// reset empties r for the next piece, and keeps its memory and the model's name.
func (r *reply) reset() {
	clear(r.Choices[:cap(r.Choices)]) // the decoder would leave old fields in them
	*r = reply{Model: r.Model, Choices: r.Choices[:0]}
}
