package endpoint

import (
	"net/http"
	"slices"
	"strings"
)

// windowCodes are the codes and types of a conversation that is too long.
var windowCodes = []string{
	"context_length_exceeded",   // OpenAI, Azure, Groq
	"exceed_context_size_error", // llama.cpp
}

// windowTexts are what servers say that have no code for it, in lower case.
var windowTexts = []string{
	"maximum context length",               // vLLM, DeepSeek, OpenRouter, Mistral
	"model's context length",               // SGLang, Together
	"maximum model length",                 // vLLM
	"too long to fit into the model",       // vLLM
	"max_tokens must be at least 1, got -", // vLLM: less than nothing is left for the answer
	"exceeds the available context size",   // llama.cpp
	"exceed context window of",             // llama-cpp-python
	"exceeded max context length",          // Ollama
	"exceeds the context length",           // Ollama
	"exceeds the context window",           // OpenAI
	"reduce the length of the messages",    // Groq, Cerebras
	"maximum prompt length is",             // xAI
	"exceeds the maximum number of tokens", // Gemini
	"prompt is too long",                   // Anthropic, behind OpenRouter
	"exceed context limit",                 // the same
}

// window says whether the conversation does not fit the model's window. A
// limit on tokens a minute, which some report in like words, is none.
func (e *Error) window() bool {
	switch {
	case e.Reason == "rate_limit_exceeded":
		return false
	case slices.Contains(windowCodes, e.Reason), slices.Contains(windowCodes, e.Type):
		return true
	case e.Status != 0 && e.Status != http.StatusBadRequest && e.Status != http.StatusRequestEntityTooLarge && e.Status < 500:
		return false
	}
	text := strings.ToLower(e.Message)
	return slices.ContainsFunc(windowTexts, func(said string) bool { return strings.Contains(text, said) })
}
