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
	"errors"
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
	return func(yield func(runtime.Chunk, error) bool) {
		a := &answer{yield: yield, thoughts: &m.thoughts, tools: req.Tools}
		if err := m.ask(ctx, req, a); err != nil && !errors.Is(err, endpoint.ErrLeft) {
			yield(runtime.Chunk{}, err)
		}
	}
}

func (m *Model) ask(ctx context.Context, req *runtime.Request, a *answer) error {
	params, answerTool, err := m.params(req)
	if err != nil {
		return fmt.Errorf("make the request to model %s: %w", m.opts.Model, err)
	}
	a.tool = answerTool
	params.Stream = !bool(m.opts.NoStream)
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode request to model %s: %w", m.opts.Model, err)
	}
	return m.Ask(ctx, "", body, params.Stream, func(x *endpoint.Exchange) endpoint.Answer {
		a.Exchange = x
		return a
	})
}
