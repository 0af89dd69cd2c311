package cli

import (
	"context"
	"fmt"
	"time"

	"usher/venue"
)

type sessionsCmd struct {
	List sessionsListCmd `cmd:"" help:"List an agent's sessions, the latest first."`
	Show sessionsShowCmd `cmd:"" help:"Print what was said in a session, and what was done."`
}

type sessionsListCmd struct{ onAgent }

func (c *sessionsListCmd) Run(ctx context.Context, s *streams) error {
	return c.withAgent(ctx, s, c.Agent, func(_ *venue.User, agent *venue.Agent) error {
		list, err := agent.Sessions(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(list)
		}
		if len(list) == 0 {
			fmt.Fprintf(s.err, "%s has no sessions; usher chat %s begins one\n", c.Agent, c.Agent)
			return nil
		}
		const enough = 50 // columns of the first message
		rows := [][]string{{"SESSION", "BEGAN", "LAST", "TURNS", "FIRST WORDS"}}
		for _, ses := range list {
			rows = append(rows, []string{ses.ID, minute(ses.Began), minute(ses.Last), fmt.Sprint(ses.Turns), s.paint.line(ses.First, enough)})
		}
		return s.table(rows)
	})
}

func minute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

type sessionsShowCmd struct {
	fromConfig
	Agent   string `arg:"" help:"The agent's id."`
	Session string `arg:"" help:"The session's id."`
	JSON    bool   `name:"json" help:"Print each event as a line of JSON, with its number and time."`
}

func (c *sessionsShowCmd) Run(ctx context.Context, s *streams) error {
	return c.withAgent(ctx, s, c.Agent, func(_ *venue.User, agent *venue.Agent) error {
		entries, err := logOf(ctx, agent, c.Session)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return unknownSession(ctx, agent, c.Session)
		}
		if !c.JSON {
			s.onOut().transcript(entries)
			return nil
		}
		for _, e := range entries {
			if err := s.printLine(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// unknownSession is an error about a missing session that says which there are.
func unknownSession(ctx context.Context, agent *venue.Agent, id string) error {
	list, err := agent.Sessions(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(list))
	for i, ses := range list {
		names[i] = ses.ID
	}
	return unknown("agent "+agent.ID()+" has no session", id, names)
}
