package openai

import (
	"encoding/json"

	vendor "github.com/sashabaranov/go-openai"
)

// reply is an answer, or a piece of one, as servers send it. The library's
// types for it are not used: they lack what servers other than OpenAI add, and
// they lose half characters.
type reply struct {
	Choices []choice        `json:"choices"`
	Usage   *vendor.Usage   `json:"usage"`
	Error   json.RawMessage `json:"error"`
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

// reset empties r for the next piece and keeps its memory.
func (r *reply) reset() {
	clear(r.Choices[:cap(r.Choices)]) // the decoder would leave old fields in them
	*r = reply{Choices: r.Choices[:0]}
}
