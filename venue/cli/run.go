package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"usher/venue"
)

type runCmd struct {
	fromConfig
	Agent   string `arg:"" help:"The agent's id."`
	Message string `arg:"" optional:"" default:"-" help:"The message; - reads it from standard input."`
	Session string `placeholder:"ID" help:"The session to go on in; without it, a new one."`
	JSON    bool   `name:"json" help:"Print each event as a line of JSON."`
}

func (c *runCmd) Run(ctx context.Context, s *streams) error {
	if c.Message == "-" {
		raw, err := s.piped(ctx, "message")
		if err != nil {
			return err
		}
		c.Message = string(raw)
	}
	if strings.TrimSpace(c.Message) == "" {
		return misusef("the message is empty: say something to %s", c.Agent)
	}
	defer s.observe(ctx)()
	return c.withAgent(ctx, s, c.Agent, func(_ *venue.User, agent *venue.Agent) error {
		session := ""
		turn := started(agent.ChatIn(ctx, c.Session, c.Message), func(id string) { session = id })
		err := s.showAnswer(turn, c.JSON)
		if !c.JSON && c.Session == "" && session != "" {
			s.note(fmt.Sprintf("session %s (go on with --session %[1]s)", session))
		}
		return interrupted(ctx, c.explain(agent, err))
	})
}

// piped reads standard input to its end, or until ctx ends.
func (s *streams) piped(ctx context.Context, what string) ([]byte, error) {
	in, done := cancellable(ctx, s.in)
	defer done()
	raw, err := io.ReadAll(in)
	if err != nil {
		return nil, interrupted(ctx, fmt.Errorf("read %s: %w", what, err))
	}
	return raw, nil
}

// interrupted is err, or that a person or a signal ended the command where err
// comes of that.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}
