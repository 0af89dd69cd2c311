package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
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
}

func (c *runCmd) Run(ctx context.Context, s *streams) error {
	text := c.Message
	if text == "-" {
		raw, err := io.ReadAll(s.in)
		if err != nil {
			return fmt.Errorf("read message: %w", err)
		}
		text = string(raw)
	}
	if strings.TrimSpace(text) == "" {
		return misusef("the message is empty: say something to %s", c.Agent)
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		agent, err := u.Agent(ctx, c.Agent)
		if err != nil {
			return unknownAgent(ctx, u, err)
		}
		return s.show(agent.ChatIn(ctx, c.Session, text), c.JSON)
	})
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

// show prints a turn while it happens: the answer to standard output, what
// leads to it to standard error.
func (s *streams) show(turn iter.Seq2[runtime.Event, error], asJSON bool) error {
	midLine := false
	for ev, err := range turn {
		if err != nil {
			return err
		}
		if asJSON {
			line, err := runtime.EventJSON(ev)
			if err != nil {
				return err
			}
			fmt.Fprintf(s.out, "%s\n", line)
			continue
		}
		switch ev := ev.(type) {
		case runtime.TextDelta:
			fmt.Fprint(s.out, ev.Text)
			midLine = !strings.HasSuffix(ev.Text, "\n")
		case runtime.Answered:
			if midLine {
				fmt.Fprintln(s.out)
				midLine = false
			}
		case runtime.ToolFinished:
			s.showTool(ev)
		case runtime.OutputRejected:
			fmt.Fprintf(s.err, "%s the answer does not fit the output schema (try %d of %d): %s\n", s.notes.warn("·"), ev.Try, ev.Tries, ev.Reason)
		}
	}
	return nil
}

// showTool prints a tool call as one calm line, and why it was refused.
func (s *streams) showTool(ev runtime.ToolFinished) {
	name := ev.Operation
	if name == "" {
		name = ev.Name
	}
	switch ev.Outcome {
	case runtime.ToolOK:
		fmt.Fprintf(s.err, "%s %s\n", s.notes.good("✓"), name)
	case runtime.ToolDenied:
		fmt.Fprintf(s.err, "%s %s\n  %s\n", s.notes.bad("✗"), name, s.notes.dim(messageOf(ev.Result)))
	default:
		fmt.Fprintf(s.err, "%s %s\n  %s\n", s.notes.warn("!"), name, s.notes.dim(messageOf(ev.Result)))
	}
}

func messageOf(result string) string {
	var r struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(result), &r) != nil || r.Message == "" {
		return result
	}
	return r.Message
}

type chatCmd struct {
	fromConfig
	Agent   string `arg:"" help:"The agent's id."`
	Session string `placeholder:"ID" default:"main" help:"The session to go on in."`
	JSON    bool   `name:"json" help:"Print each event as a line of JSON."`
}

func (c *chatCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		agent, err := u.Agent(ctx, c.Agent)
		if err != nil {
			return unknownAgent(ctx, u, err)
		}
		prompt := ""
		if s.interactive() {
			prompt = s.notes.bold("> ")
			fmt.Fprintln(s.err, s.notes.dim("Talking with "+agent.ID()+" in session "+c.Session+". An empty line or Ctrl-D ends it."))
		}
		lines := bufio.NewScanner(s.in)
		lines.Buffer(nil, 1<<20)
		for {
			fmt.Fprint(s.err, prompt)
			if !lines.Scan() || strings.TrimSpace(lines.Text()) == "" {
				return lines.Err()
			}
			if err := s.show(agent.ChatIn(ctx, c.Session, lines.Text()), c.JSON); err != nil {
				if ctx.Err() != nil {
					return err
				}
				fmt.Fprintf(s.err, "%s %s\n", s.notes.bad("usher:"), err)
			}
		}
	})
}
