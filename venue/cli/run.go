package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"usher/venue"
)

type runCmd struct {
	fromConfig
	Agent   string `arg:"" help:"The agent's id."`
	Message string `arg:"" optional:"" default:"-" help:"What to say to it; - reads standard input."`
	Session string `placeholder:"ID" help:"Go on in this session; otherwise a new one."`
	JSON    bool   `name:"json" help:"Print each event as a line of JSON."`
}

func (c *runCmd) Run(ctx context.Context, s *streams) error {
	text := c.Message
	if text == "-" {
		in, done := cancellable(ctx, s.in)
		raw, err := io.ReadAll(in)
		done()
		if err != nil {
			return interrupted(ctx, fmt.Errorf("read message: %w", err))
		}
		text = string(raw)
	}
	if strings.TrimSpace(text) == "" {
		return misusef("the message is empty: say something to %s", c.Agent)
	}
	defer s.observe(ctx)()
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		agent, err := u.Agent(ctx, c.Agent)
		if err != nil {
			return unknownAgent(ctx, u, err)
		}
		return interrupted(ctx, s.show(agent.ChatIn(ctx, c.Session, text), c.JSON))
	})
}

// interrupted says so where that is what an error comes from.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// unknownAgent adds to an error about a missing agent which there are.
func unknownAgent(ctx context.Context, u *venue.User, err error) error {
	var missing *venue.NoAgentError
	if !errors.As(err, &missing) {
		return err
	}
	list, listErr := u.Agents(ctx)
	if listErr != nil || len(list) == 0 {
		return misuse{err}
	}
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.AgentID
	}
	return misusef("%w; there are: %s", err, strings.Join(names, ", "))
}
