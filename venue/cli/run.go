package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"usher/runtime"
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
		fresh := c.Session != "" && unused(ctx, agent, c.Session)
		session := ""
		turn := started(agent.ChatIn(ctx, c.Session, c.Message), func(id string) { session = id })
		err := s.showAnswer(turn, c.JSON)
		if !c.JSON && session != "" {
			c.after(ctx, s, agent, session, fresh)
		}
		return interrupted(ctx, c.explain(agent, err))
	})
}

// after says how to go on once a turn is over: in a session that it opened, and
// with messages that wait in the main one.
func (c *runCmd) after(ctx context.Context, s *streams, agent *venue.Agent, session string, fresh bool) {
	switch {
	case fresh:
		s.note("new session " + session)
	case c.Session == "":
		s.note(fmt.Sprintf("session %s (go on with --session %[1]s)", session))
	}
	if session == mainSession {
		return
	}
	n, err := agent.Waiting(ctx, mainSession)
	if err != nil || n == 0 { // what cannot be counted fails no turn
		return
	}
	wait, them := many(n, "message")+" wait", "them"
	if n == 1 {
		wait, them = "1 message waits", "it"
	}
	s.note(fmt.Sprintf("%s in session %s: %s hears %s", wait, mainSession, c.command("chat "+c.Agent), them))
}

// unused reports whether nothing has happened in a session. One that cannot be
// read is for the turn to tell.
func unused(ctx context.Context, agent *venue.Agent, session string) bool {
	began := false
	agent.History(ctx, session)(func(runtime.Entry, error) bool { began = true; return false })
	return !began
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
