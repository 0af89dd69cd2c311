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
	"iter"

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
