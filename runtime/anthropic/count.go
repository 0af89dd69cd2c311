package anthropic

import (
	"context"
	"fmt"
	"io"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// CountTokens asks the API how many tokens req is. It is a request of its own,
// with the errors and the timeout of [Model.Generate]; it costs nothing, but has
// a rate limit.
func (m *Model) CountTokens(ctx context.Context, req *runtime.Request) (int, error) {
	params, _, err := m.params(req)
	if err != nil {
		return 0, fmt.Errorf("make the request to model %s: %w", m.opts.Model, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.opts.Timeout, endpoint.TimedOut(m.opts.Timeout))
	defer cancel()
	count, err := m.messages.CountTokens(ctx, counted(&params), option.WithMiddleware(expect(wholeType, "")))
	switch {
	case ended(err):
		err = cut(io.ErrUnexpectedEOF)
	case err == nil && (count == nil || !count.JSON.InputTokens.Valid()): // nil: the body was null
		err = fmt.Errorf("%w: its answer is no count of tokens", ErrFormat)
	}
	if err != nil {
		return 0, m.failed(ctx, err)
	}
	return endpoint.Tokens(int(count.InputTokens)), nil
}

// counted is what of a request counts: all but how the answer is sampled.
func counted(p *sdk.MessageNewParams) sdk.MessageCountTokensParams {
	out := sdk.MessageCountTokensParams{
		Model: p.Model, Messages: p.Messages, Thinking: p.Thinking, ToolChoice: p.ToolChoice, OutputConfig: p.OutputConfig,
	}
	out.System.OfTextBlockArray = p.System
	for i := range p.Tools {
		out.Tools = append(out.Tools, sdk.MessageCountTokensToolUnionParam{OfTool: p.Tools[i].OfTool})
	}
	return out
}
