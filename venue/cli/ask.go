package cli

import (
	"context"
	"encoding/json"

	"usher/venue"
)

// onVenue is what commands on a venue take.
type onVenue struct {
	fromConfig
	JSON bool `name:"json" help:"Print as JSON."`
}

// ask runs an operation for the user and reads its output as Out.
func ask[Out any](ctx context.Context, u *venue.User, operation string, input any) (out Out, err error) {
	raw, err := u.Invoke(ctx, operation, input)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(raw, &out)
}

// every reads all pages of a list, of which the first is after "".
func every[T any](page func(after string) (list []T, next string, err error)) ([]T, error) {
	all := []T{}
	for after := ""; ; {
		list, next, err := page(after)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if after = next; next == "" {
			return all, nil
		}
	}
}

// answer runs an operation for the user, and prints its output: as JSON, or as show does.
func answer[Out any](ctx context.Context, s *streams, c *onVenue, operation string, input any, show func(Out) error) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := ask[Out](ctx, u, operation, input)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return s.printJSON(out)
		}
		return show(out)
	})
}
