package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"usher/prompt"
	"usher/venue"
)

type chatCmd struct {
	onAgent
	Session string `placeholder:"ID" default:"main" help:"The session to go on in; empty is a new one."`
}

func (c *chatCmd) Run(ctx context.Context, s *streams) error {
	defer s.observe(ctx)()
	return c.withAgent(ctx, s, c.Agent, func(u *venue.User, agent *venue.Agent) error {
		in, done := cancellable(ctx, s.in)
		defer done()
		if err := s.noteCut(ctx, agent, c.Session); err != nil {
			return err
		}
		talk := &chat{streams: s, from: &c.fromConfig, user: u, agent: agent, session: c.Session, json: c.JSON}
		if !s.interactive() {
			return talk.converse(ctx, newPlainLines(in, nil))
		}
		talk.person = true
		defer s.interrupts.take(talk.interrupt)()
		talk.greet(ctx)
		return talk.converse(ctx, talk.lines(in, c.dir))
	})
}

// chat is a conversation with an agent.
type chat struct {
	*streams
	from    *fromConfig
	user    *venue.User
	agent   *venue.Agent
	session string // empty is a new one
	json    bool
	person  bool // types; otherwise messages come from a script

	mu      sync.Mutex // guards what follows
	stop    func()     // stops the turn that runs; nil between turns
	pressed int        // Ctrl-C, in a row
}

// converse takes each message for a turn or for a command, until the messages
// end or the person leaves. One that fails is told, and the others follow; a
// script has failed then.
func (c *chat) converse(ctx context.Context, in lines) (failed error) {
	for {
		text, err := c.message(in)
		switch {
		case ctx.Err() != nil:
			return endOf(ctx)
		case errors.Is(err, errTyped):
			c.attend(nil)
			continue
		case errors.Is(err, errCtrlC):
			c.interrupt()
			continue
		case errors.Is(err, io.EOF):
			return failed
		case err != nil:
			return fmt.Errorf("read message: %w", err)
		case strings.TrimSpace(text) == "":
			continue
		}
		c.attend(nil)
		if err := in.remember(text); err != nil {
			c.note("cannot keep what you typed: " + err.Error())
		}
		name, isCommand := chatCommand(text)
		switch {
		case isCommand && name == "/quit":
			return failed
		case isCommand:
			err = c.command(ctx, name)
		default:
			err = c.stoppable(ctx, func(ctx context.Context) error { return c.turn(ctx, text) })
			if c.person {
				err = c.askPerson(ctx, in, err)
			} else {
				c.from.noteWaits(c.streams, err)
			}
		}
		if ctx.Err() != nil {
			return endOf(ctx)
		}
		if err != nil {
			c.tell(err)
			if !c.person {
				failed = errQuiet
			}
		}
	}
}

// message reads one message: a line, and the next one where it ends in a
// backslash. A script may end instead of the next line.
func (c *chat) message(in lines) (string, error) {
	var text strings.Builder
	for prompt := "> "; ; prompt = "… " {
		line, err := in.next(prompt)
		if errors.Is(err, io.EOF) && text.Len() > 0 && !c.person {
			return strings.TrimSuffix(text.String(), "\n"), nil
		}
		if err != nil {
			return "", err
		}
		line, goesOn := strings.CutSuffix(line, `\`)
		text.WriteString(line)
		if !goesOn {
			return text.String(), nil
		}
		text.WriteByte('\n')
	}
}

// stoppable runs a turn that Ctrl-C stops.
func (c *chat) stoppable(ctx context.Context, run func(context.Context) error) error {
	turn, stop := context.WithCancel(ctx)
	defer stop()
	c.attend(stop)
	err := run(turn)
	c.mu.Lock()
	c.stop = nil // pressed stays: the next Ctrl-C leaves
	c.mu.Unlock()
	if err != nil && turn.Err() != nil && ctx.Err() == nil {
		c.note("stopped")
		return nil
	}
	return err
}

// turn runs one turn. The session is then the one that it ran in; a new one is
// told by its id.
func (c *chat) turn(ctx context.Context, text string) error {
	v := c.view()
	if c.session == "" && !c.json {
		v.announce = "session %s"
	}
	err := v.show(c.agent.ChatIn(ctx, c.session, text), c.json)
	c.session = cmp.Or(v.session, c.session)
	return c.from.explain(c.agent, err)
}

// attend counts Ctrl-C anew; stop is what the first one does.
func (c *chat) attend(stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop, c.pressed = stop, 0
}

// interrupt is Ctrl-C: the first stops the turn that runs, the second leaves.
func (c *chat) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pressed++
	switch {
	case c.pressed > 1:
		c.interrupts.end(errLeft)
	case c.stop != nil:
		c.stop()
	default:
		c.note("Ctrl-C again, or Ctrl-D, leaves")
	}
}

// errLeft is a conversation that the person left with Ctrl-C.
var errLeft = errors.New("left")

// endOf is how a conversation ended that did not come to its own end.
func endOf(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errLeft) {
		return nil
	}
	return errInterrupted
}

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
