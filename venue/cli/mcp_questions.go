package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"usher/tools/mcp"
	"usher/venue"
)

type mcpQuestionsCmd struct{ onVenue }

// Run lists what servers ask a person.
func (c *mcpQuestionsCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		list, err := ask[mcp.Questions](ctx, u, "mcp:questions", mcp.QuestionQuery{})
		if err != nil {
			return err
		}
		if len(list.Questions) == 0 && !c.JSON {
			s.note("No MCP server asks anything.")
			return nil
		}
		var b strings.Builder
		for i := range list.Questions {
			q := &list.Questions[i]
			fmt.Fprintf(&b, "%s  MCP server %s asks, in its own words, until %s:\n", q.ID, q.Server, s.local(time.UnixMilli(q.Expires)).Format(time.TimeOnly))
			for line := range strings.SplitSeq(strings.TrimSpace(q.Message), "\n") {
				fmt.Fprintf(&b, "  %s\n", s.paint.safe(line))
			}
			if q.URL != "" {
				fmt.Fprintf(&b, "  It wants you to go to %s\n", s.paint.safe(q.URL))
			}
			if len(q.Schema) > 0 {
				fmt.Fprintf(&b, "  An answer fits %s\n", s.paint.safe(string(q.Schema)))
			}
		}
		return s.answer(c.JSON, list.Questions, b.String())
	})
}

type mcpAnswerCmd struct {
	onServer
	ID      string `arg:"" help:"Id of the question, as usher mcp questions shows it."`
	Content string `arg:"" optional:"" placeholder:"JSON|@FILE" help:"What you fill in, a JSON object; @FILE reads it from a file. Without it, what the server proposes is taken."`
	Decline bool   `help:"Say no."`
}

// Run answers what a server asks.
func (c *mcpAnswerCmd) Run(ctx context.Context, s *streams) error {
	in := mcp.QuestionAnswer{Server: c.Server, ID: c.ID, Action: "accept"}
	switch {
	case c.Decline && c.Content != "":
		return misusef("what is declined is not filled in: leave out the content, or --decline")
	case c.Decline:
		in.Action = "decline"
	case c.Content != "":
		filled, err := s.object(c.Content)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(filled, &in.Content); err != nil {
			return misuse{err}
		}
	}
	return answer(ctx, s, &c.onVenue, "mcp:answer", in, func(mcp.Answered) error { return s.print("answered\n") })
}
