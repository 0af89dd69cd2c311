package openai

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

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
	Mistake mistake         `json:"object"` // it is an error itself, as FastChat and others write them
}

// mistake says that an "object" is "error".
type mistake bool

// UnmarshalJSON reads whether it is.
func (m *mistake) UnmarshalJSON(raw []byte) error {
	*m = string(raw) == `"error"`
	return nil
}

// name is a text that every piece of an answer repeats: the first is kept.
type name string

// UnmarshalJSON reads a string, and passes over anything else.
func (n *name) UnmarshalJSON(raw []byte) error {
	if *n == "" && raw[0] == '"' {
		*n = name(piece(raw[1 : len(raw)-1]).text())
	}
	return nil
}

type usage struct {
	Prompt     count `json:"prompt_tokens"` // those from the cache included
	Completion count `json:"completion_tokens"`
	Details    struct {
		Cached  count `json:"cached_tokens"`
		Written count `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	Cached count `json:"prompt_cache_hit_tokens"` // DeepSeek
}

// UnmarshalJSON reads what of it is as it should be: no answer is lost for the
// sake of its counts.
func (u *usage) UnmarshalJSON(raw []byte) error {
	type fields usage
	_ = json.Unmarshal(raw, (*fields)(u))
	return nil
}

// count is a number of tokens, however it is written.
type count int

// UnmarshalJSON reads a number, or text that is one, and passes over anything else.
func (c *count) UnmarshalJSON(raw []byte) error {
	if n, _ := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64); n > 0 { // infinite where it is too large
		*c = count(endpoint.Tokens(int(min(n, math.MaxInt/4))))
	}
	return nil
}

func (u *usage) usage() runtime.Usage {
	return runtime.Usage{
		Input: int(u.Prompt), Output: int(u.Completion),
		CacheRead: int(min(max(u.Details.Cached, u.Cached), u.Prompt)), CacheWrite: int(min(u.Details.Written, u.Prompt)),
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

func (m *message) empty() bool {
	return m.Content == "" && m.Refusal == "" && m.ReasoningContent == "" && m.Reasoning == "" && len(m.Calls) == 0 && m.Function == nil
}

type call struct {
	Index    *int     `json:"index"`
	ID       word     `json:"id"`
	Function function `json:"function"`
}

// word is a text, or the number that some servers write for one.
type word string

// UnmarshalJSON reads either, and passes over anything else.
func (w *word) UnmarshalJSON(raw []byte) error {
	switch c := raw[0]; {
	case c == '"':
		*w = word(piece(raw[1 : len(raw)-1]).text())
	case c == '-', c >= '0' && c <= '9':
		*w = word(raw)
	}
	return nil
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
