package anthropic

import (
	"context"
	"fmt"
	"io"

	sdk "github.com/anthropics/anthropic-sdk-go"

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
	n := 0
	err = m.post(ctx, "/count_tokens", counted(&params), false, func(kind string, body io.Reader) error {
		if kind != "" && kind != wholeType {
			return unexpected(kind, wholeType, "")
		}
		var count struct {
			InputTokens *int `json:"input_tokens"`
		}
		if _, err := m.value(body, &count); err != nil {
			return err
		}
		if count.InputTokens == nil {
			return fmt.Errorf("%w: its answer is no count of tokens", ErrFormat)
		}
		n = endpoint.Tokens(*count.InputTokens)
		return nil
	})
	return n, err
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
