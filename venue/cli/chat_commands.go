package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"usher/prompt"
	"usher/runtime"
)

const chatHelp = `/help     this
/history  what was said in this session
/caps     what the agent may do now
/session  which session this is
/new      begin a new session
/quit     leave; Ctrl-D does too
A line that ends in \ goes on in the next one, and so does Alt-Enter.
Ctrl-C stops a turn; twice, it leaves. /etc/hosts, or a line that begins with a space, is said as it is.`

// commandForm leaves paths to the model.
var commandForm = regexp.MustCompile(`^/[a-z]*\s*$`)

// chatCommand reports whether the message is a command of the chat.
func chatCommand(text string) (name string, ok bool) {
	return strings.TrimSpace(text), commandForm.MatchString(text)
}

func (c *chat) command(ctx context.Context, name string) {
	var err error
	switch name {
	case "/help":
		fmt.Fprintln(c.err, chatHelp)
	case "/session":
		c.note(c.where())
	case "/new":
		c.session = ""
		c.note(c.where())
	case "/caps":
		err = c.bounds(ctx)
	case "/history":
		err = c.history(ctx)
	default:
		c.note("there is no " + name + ": /help says what there is")
	}
	if err != nil {
		c.tell(err)
	}
}

func (c *chat) where() string {
	if c.session == "" {
		return "a new session, which gets its id when you say something"
	}
	return "session " + c.session
}

// greet says with whom one talks, and what there is of a past.
func (c *chat) greet(ctx context.Context) {
	c.note("Talking with " + c.agent.ID() + ", " + c.where() + ". /help says what else there is.")
	turns, last := 0, time.Time{}
	for e, err := range c.agent.History(ctx, c.session) {
		if err != nil {
			c.tell(err)
			return
		}
		if _, ok := e.Event.(runtime.TurnStarted); ok {
			turns++
		}
		last = e.Time
	}
	if turns > 0 {
		c.note(fmt.Sprintf("%s so far, the last on %s; /history shows them.", many(turns, "turn"), last.Local().Format("2006-01-02 at 15:04")))
	}
}

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// bounds prints what the agent's model is told of its bounds, as they are now.
func (c *chat) bounds(ctx context.Context) error {
	info, err := c.agent.Info(ctx)
	if err != nil {
		return err
	}
	section := prompt.Disclosure(info.Caps)
	if section == "" {
		section = c.agent.ID() + " is unrestricted: it may do whatever you may"
	}
	fmt.Fprintln(c.err, c.notes.safe(section))
	return nil
}

// history prints what was said in the session, and what was done.
func (c *chat) history(ctx context.Context) error {
	calls := make(map[string]runtime.ToolCall)
	none := true
	for e, err := range c.agent.History(ctx, c.session) {
		if err != nil {
			return err
		}
		none = false
		switch ev := e.Event.(type) {
		case runtime.TurnStarted:
			c.note(e.Time.Local().Format(time.DateTime))
			fmt.Fprintln(c.err, c.notes.bold("> ")+c.notes.safe(ev.Text))
		case runtime.Received:
			c.note("left by " + ev.From + ":")
			fmt.Fprintln(c.err, c.notes.safe(ev.Text))
		case runtime.Answered:
			if ev.Text != "" {
				fmt.Fprintln(c.err, c.notes.safe(strings.TrimSuffix(ev.Text, "\n")))
			}
		case runtime.ToolStarted:
			calls[ev.Call.ID] = ev.Call
		case runtime.ToolFinished:
			c.tool(ev, calls[ev.CallID].Arguments)
		case runtime.Compacted:
			c.note("what stands above the model has as a summary:")
			fmt.Fprintln(c.err, c.notes.safe(ev.Summary))
		case runtime.TurnFinished:
			if ev.Error != "" {
				c.note("not finished: " + ev.Error)
			}
		}
	}
	if none {
		c.note("nothing was said yet")
	}
	return nil
}
