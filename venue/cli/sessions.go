package cli

import (
	"context"
	"fmt"

	"usher/runtime"
	"usher/venue"
	"usher/venue/runs"
)

type sessionsCmd struct {
	List sessionsListCmd `cmd:"" reads:"" help:"List an agent's sessions, the latest first."`
	Show sessionsShowCmd `cmd:"" reads:"" help:"Print what was said in a session, and what was done."`
}

type sessionsListCmd struct{ onAgent }

func (c *sessionsListCmd) Run(ctx context.Context, s *streams) error {
	return c.withAgent(ctx, s, c.Agent, func(_ *venue.User, agent *venue.Agent) error {
		list, err := agent.Sessions(ctx)
		if err != nil {
			return err
		}
		const enough = 50 // columns of the first message
		none := fmt.Sprintf("%s has no sessions; usher chat %[1]s begins one", c.Agent)
		return printList(s, c.JSON, list, none, []string{"SESSION", "BEGAN", "LAST", "TURNS", "FIRST WORDS"}, func(ses *runs.Head) []string {
			return []string{ses.ID, s.minute(ses.Began), s.minute(ses.Last), fmt.Sprint(ses.Turns), s.paint.line(ses.First, enough)}
		})
	})
}

type sessionsShowCmd struct {
	onAgent
	Session string `arg:"" help:"The session's id."`
}

func (c *sessionsShowCmd) Run(ctx context.Context, s *streams) error {
	return c.withAgent(ctx, s, c.Agent, func(_ *venue.User, agent *venue.Agent) error {
		entries, err := logOf(ctx, agent, c.Session)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			list, err := agent.Sessions(ctx)
			if err != nil {
				return err
			}
			return unknown("agent "+agent.ID()+" has no session", c.Session, list, func(h runs.Head) string { return h.ID })
		}
		page := s.onOut()
		for _, e := range entries {
			if !c.JSON {
				page.entry(e)
			} else if err := s.printLine(e); err != nil {
				return err
			}
		}
		if _, ended := entries[len(entries)-1].Event.(runtime.TurnEnd); ended {
			return nil
		}
		cut, err := agent.Interruption(ctx, c.Session)
		if err == nil && cut != nil {
			page.note("not finished: " + cut.Error)
		}
		return err
	})
}

// noteCut says how the last turn of a session was cut, where it did not come to its
// end.
func (s *streams) noteCut(ctx context.Context, agent *venue.Agent, session string) error {
	if session == "" {
		return nil
	}
	cut, err := agent.Interruption(ctx, session)
	if err == nil && cut != nil {
		s.warn("the last turn of session " + session + " is not finished: " + cut.Error)
	}
	return err
}

// logOf is what happened in a session.
func logOf(ctx context.Context, agent *venue.Agent, session string) ([]runtime.Entry, error) {
	var entries []runtime.Entry
	for e, err := range agent.History(ctx, session) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}
