// Package anthropic asks models of Anthropic's Messages API.
//
// Configurations name it "anthropic" and start at [Provider]; programs start at
// [New]. One call of [Model.Generate] is one HTTP request. Nothing is tried
// again here: errors say whether that is worth it (see [endpoint.Error]),
// and models over models act on it. The environment is not read, but for the
// secrets that a configuration looks for there.
//
// What the API asks of a conversation is done here: the results of one answer's
// calls stand in one message, roles alternate, ids are unique, empty text is
// left out, and what a model thought before it called tools goes back to it
// with the results.
package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// Name is the provider's name in configurations.
const Name = "anthropic"

// Model is a model behind one endpoint. It is safe for concurrent use. It
// prints without its key, and knows its window where the API is the vendor's own:
// 200,000 tokens.
type Model struct {
	*endpoint.Server
	opts     Options // without the key and the headers
	thoughts thoughts
}

var (
	_ runtime.Model     = (*Model)(nil)
	_ runtime.Describer = (*Model)(nil)
	_ runtime.Counter   = (*Model)(nil)
)

// Generate sends the request and yields the answer as it comes. The errors of
// the sequence are [*endpoint.Error] for what the server says is wrong,
// [endpoint.ErrRefused], [endpoint.ErrCut], [endpoint.ErrFormat],
// [endpoint.ErrTimeout], the cause of ctx, or a failure to reach the server.
func (m *Model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return m.Chunks(ctx, func(x *endpoint.Exchange) ([]byte, endpoint.Answer, error) {
		body, answerTool, err := m.body(req, false)
		return body, &answer{Exchange: x, thoughts: &m.thoughts, tools: req.Tools, tool: answerTool}, err
	})
}

// body encodes req, as a request for an answer or for a count of its tokens. Where
// the answer is to come as the arguments of a tool, it returns that tool's name.
func (m *Model) body(req *runtime.Request, count bool) (body []byte, answerTool string, err error) {
	params, answerTool, err := m.params(req)
	if err != nil {
		return nil, "", fmt.Errorf("make the request to model %s: %w", m.opts.Model, err)
	}
	if count {
		params.MaxTokens, params.Temperature, params.TopP = 0, nil, nil
	} else {
		params.Stream = !bool(m.opts.NoStream)
	}
	if body, err = json.Marshal(params); err != nil {
		return nil, "", fmt.Errorf("encode request to model %s: %w", m.opts.Model, err)
	}
	return body, answerTool, nil
}

// CountTokens asks the API how many tokens req is. It is a request of its own,
// with the errors and the timeout of [Model.Generate]; it costs nothing, but has
// a rate limit.
func (m *Model) CountTokens(ctx context.Context, req *runtime.Request) (int, error) {
	body, _, err := m.body(req, true)
	if err != nil {
		return 0, err
	}
	var said struct {
		InputTokens *int `json:"input_tokens"`
	}
	err = m.Fetch(ctx, "/count_tokens", body, &said)
	if err == nil && said.InputTokens == nil {
		err = fmt.Errorf("%w: its answer is no count of tokens", endpoint.ErrFormat)
	}
	if err != nil {
		return 0, err
	}
	return endpoint.Tokens(*said.InputTokens), nil
}
