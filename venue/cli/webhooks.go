package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"usher/venue"
	"usher/venue/webhooks"
)

type webhooksCmd struct {
	List webhooksListCmd `cmd:"" help:"List what requests start, and who is told of runs: what waits to be told, and why it does."`
}

type webhooksListCmd struct{ onVenue }

func (c *webhooksListCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, _ *venue.User) error {
		list, err := v.Webhooks(ctx)
		if err != nil {
			return err
		}
		rows := [][]string{{"WEBHOOK", "WHAT", "STATE"}}
		for i := range list.In {
			e := &list.In[i]
			starts := e.Op
			if e.Agent != "" {
				starts = "a task of " + e.Agent
			}
			rows = append(rows, []string{e.ID, "/hooks/" + e.ID + " starts " + starts, orReady(e.Error)})
		}
		waits := false
		for i := range list.Out {
			e := &list.Out[i]
			waits = waits || e.Waiting > 0
			rows = append(rows, []string{e.ID, e.Host + " is told of " + eventsOf(e), s.paint.line(s.deliveries(e), 200)})
		}
		if len(rows) == 1 && !c.JSON {
			s.note("there are no webhooks: the section webhooks of the configuration has them")
			return nil
		}
		if err := s.answer(c.JSON, list, s.columns(rows)); err != nil || c.JSON || !waits {
			return err
		}
		if s.upVenue() == nil {
			s.note("What waits is sent while the venue is up: " + c.command("up"))
		}
		return nil
	})
}

func orReady(problem string) string { return cmp.Or(problem, "ready") }

// eventsOf is what a webhook is told of.
func eventsOf(e *webhooks.Standing) string {
	text := "all runs"
	if len(e.Events) > 0 {
		text = strings.Join(e.Events, ", ")
	}
	if len(e.Agents) > 0 {
		text += " of " + strings.Join(e.Agents, ", ")
	}
	return text
}

// deliveries is how it stands with what a webhook is told.
func (s *streams) deliveries(e *webhooks.Standing) string {
	if e.Error != "" || e.Waiting == 0 {
		return orReady(e.Error)
	}
	text := fmt.Sprintf("%d waiting", e.Waiting)
	if e.Tries > 0 {
		text += fmt.Sprintf(", tried %s, again at %s: %s", many(e.Tries, "time"), s.minute(time.UnixMilli(e.Next)), e.Failed)
	}
	return text
}
