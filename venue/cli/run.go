package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"usher/venue"
)

type runCmd struct {
	onAgent
	Message string `arg:"" optional:"" default:"-" help:"The message; - reads it from standard input."`
	Session string `placeholder:"ID" help:"The session to go on in; without it, a new one."`

	// Taken so that an error can say what to do.
	More []string `arg:"" optional:"" hidden:""`
}

func (c *runCmd) Run(ctx context.Context, s *streams) error {
	if len(c.More) > 0 {
		return misusef("the message is one argument: put it in quotes, for example usher run %s %q", c.Agent, strings.Join(append([]string{c.Message}, c.More...), " "))
	}
	if c.Message == "-" {
		raw, err := s.readPipe(ctx, "message")
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
		v := s.view()
		// A person sees the answer come; a file or a pipe gets it alone, and only of
		// a turn that ended well, so that what reads it never takes a word on the way,
		// or half an answer, for the whole.
		v.whole = s.paint.tty == nil
		if !c.JSON && c.Session == "" && c.dir != "" { // in memory it ends here
			v.announce = "session %s (go on with --session %[1]s)"
		}
		if err := s.noteCut(ctx, agent, c.Session); err != nil {
			return err
		}
		err := v.show(agent.ChatIn(ctx, c.Session, c.Message), c.JSON)
		c.noteWaits(s, err)
		return interruptionOf(ctx, c.explain(agent, err))
	})
}

// readPipe reads standard input to its end, or until ctx ends.
func (s *streams) readPipe(ctx context.Context, what string) ([]byte, error) {
	in, done := cancellable(ctx, s.in)
	defer done()
	raw, err := io.ReadAll(in)
	if err != nil {
		return nil, interruptionOf(ctx, fmt.Errorf("read %s: %w", what, err))
	}
	return raw, nil
}

// interruptionOf is err, or that a person or a signal ended the command where err
// comes of that.
func interruptionOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}
