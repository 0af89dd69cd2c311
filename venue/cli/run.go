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
	Message string `arg:"" optional:"" default:"-" help:"What to say to it; - reads standard input."`
	Session string `placeholder:"ID" help:"Go on in this session; otherwise a new one."`
	JSON    bool   `name:"json" help:"Print each event as a line of JSON."`

	fresh bool // no session had the id that was given
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
			return c.unknownAgent(ctx, u, err)
		}
		c.fresh = c.Session != "" && unused(ctx, agent, c.Session)
		session := ""
		turn := started(agent.ChatIn(ctx, c.Session, text), func(id string) { session = id })
		err = s.showAnswer(turn, c.JSON)
		if !c.JSON && session != "" {
			c.after(ctx, s, agent, session)
		}
		return interrupted(ctx, c.explain(agent, err))
	})
}

// after says how to go on once a turn is over: in the session that was opened
// for it, and with messages that wait elsewhere.
func (c *runCmd) after(ctx context.Context, s *streams, agent *venue.Agent, session string) {
	switch {
	case c.fresh:
		s.note("new session " + session)
	case c.Session == "":
		s.note(fmt.Sprintf("session %s (go on with --session %[1]s)", session))
	}
	if session == mainSession {
		return
	}
	if n, err := agent.Waiting(ctx, mainSession); err == nil && n > 0 { // what cannot be counted fails no turn
		s.note(fmt.Sprintf("%s in session %s: %s hears %s", waiting(n), mainSession, c.command("chat "+c.Agent), it(n)))
	}
}

// unused reports whether nothing has happened in a session. One that cannot be
// read is for the turn to tell.
func unused(ctx context.Context, agent *venue.Agent, session string) bool {
	began := false
	agent.History(ctx, session)(func(runtime.Entry, error) bool { began = true; return false })
	return !began
}

// interrupted says so where that is what an error comes from.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}
