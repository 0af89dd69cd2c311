package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"usher/prompt"
)

const chatHelp = `/help     show this list
/history  show what was said in this session
/caps     show what the agent may do now
/session  show which session this is
/new      begin a new session
/quit     leave; Ctrl-D does too
A line that ends in \ goes on in the next one; Alt-Enter begins a new line too.
Ctrl-C stops a turn; twice, it leaves.
A path such as /etc/hosts, or a line that begins with a space, goes to the agent.`

// chatCommand reports whether the message is a command of the chat. Paths go to
// the model.
func chatCommand(text string) (name string, ok bool) {
	name = strings.TrimSpace(text)
	word, slash := strings.CutPrefix(strings.TrimRight(text, " \t\r\n"), "/")
	return name, slash && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == ""
}

// command runs a command; /quit is for whoever reads the input.
func (c *chat) command(ctx context.Context, name string) error {
	switch name {
	case "/help":
		fmt.Fprintln(c.err, chatHelp)
	case "/session":
		c.note(c.where())
	case "/new":
		c.session = ""
		c.note(c.where())
	case "/caps":
		return c.bounds(ctx)
	case "/history":
		entries, err := logOf(ctx, c.agent, c.session)
		if err != nil {
			return err
		}
		page := c.view()
		for _, e := range entries {
			page.entry(e)
		}
		if len(entries) == 0 {
			c.note("nothing was said yet")
		}
	default:
		return fmt.Errorf("there is no command %s: /help lists them", name)
	}
	return nil
}

func (c *chat) where() string {
	if c.session == "" {
		return "a new session, which gets its id with your first message"
	}
	return "session " + c.session
}

// greet says with whom one talks, and what there is of a past.
func (c *chat) greet(ctx context.Context) {
	c.note("Talking with " + c.agent.ID() + ", " + c.where() + ". /help lists the commands.")
	list, err := c.agent.Sessions(ctx)
	if err != nil {
		c.tell(err)
	}
	for _, ses := range list {
		if ses.ID == c.session && ses.Turns > 0 {
			c.note(fmt.Sprintf("%s so far, the last on %s; /history shows them.", many(ses.Turns, "turn"), c.local(ses.Last).Format("2006-01-02 at 15:04")))
		}
	}
}

// bounds prints what the agent's model is told of its bounds, as they are now.
func (c *chat) bounds(ctx context.Context) error {
	info, err := c.agent.Info(ctx)
	if err != nil {
		return err
	}
	section := cmp.Or(prompt.Disclosure(info.Caps), c.agent.ID()+" is unrestricted: it may do whatever you may")
	fmt.Fprintln(c.err, c.notes.safe(section))
	return nil
}
