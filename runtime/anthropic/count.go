package anthropic

import (
	"context"
	"fmt"

	"usher/runtime"
	"usher/runtime/endpoint"
)

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
