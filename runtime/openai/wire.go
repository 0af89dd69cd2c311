package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	vendor "github.com/sashabaranov/go-openai"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// reply is an answer, or a piece of one, as servers send it.
type reply struct {
	Model   word            `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  word            `json:"object"` // "error" where it is one itself, as FastChat and others write them
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
	Content          text      `json:"content"`
	Refusal          text      `json:"refusal"`
	ReasoningContent text      `json:"reasoning_content"` // DeepSeek, vLLM
	Reasoning        text      `json:"reasoning"`         // OpenRouter, Groq, Ollama
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

type function struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

// text is a string, null, or a list of parts of which the texts count.
type text string

// UnmarshalJSON reads any of them.
func (t *text) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '"', 'n':
		return json.Unmarshal(raw, (*string)(t))
	case '[':
		var parts []struct{ Text text }
		err := json.Unmarshal(raw, &parts)
		for _, part := range parts {
			*t += part.Text
		}
		return err
	}
	return errors.New("a text is neither a string nor a list of parts")
}

// arguments are a call's arguments: a string that holds JSON, or, from some
// servers, the JSON itself.
type arguments text

// UnmarshalJSON reads either.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	if raw[0] == '{' {
		*a = arguments(raw)
		return nil
	}
	err := (*text)(a).UnmarshalJSON(raw)
	if strings.ContainsRune(string(*a), utf8.RuneError) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) && !bytes.Contains(raw, []byte("\uFFFD")) {
		return errors.New("it cuts a character of a call's arguments in two")
	}
	return err
}

// word is a text, or the number that some servers write for one.
type word string

// UnmarshalJSON reads either, and passes over anything else.
func (w *word) UnmarshalJSON(raw []byte) error {
	switch c := raw[0]; {
	case c == '"':
		return json.Unmarshal(raw, (*string)(w))
	case c == '-', c >= '0' && c <= '9':
		*w = word(raw)
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

func (u *usage) usage() runtime.Usage {
	return runtime.Usage{
		Input: int(u.Prompt), Output: int(u.Completion),
		CacheRead: int(min(max(u.Details.Cached, u.Cached), u.Prompt)), CacheWrite: int(min(u.Details.Written, u.Prompt)),
	}
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
