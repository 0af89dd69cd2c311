package cli

import (
	"context"
	"encoding/json"

	"usher/venue"
)

// ask runs an operation for the user and reads its output as Out.
func ask[Out any](ctx context.Context, u *venue.User, operation string, input any) (out Out, err error) {
	raw, err := u.Invoke(ctx, operation, input)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(raw, &out)
}
