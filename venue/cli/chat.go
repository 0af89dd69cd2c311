package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

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
			return ended(ctx)
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
				err = c.asked(ctx, in, err)
			} else {
				c.from.noteWaits(c.streams, err)
			}
		}
		if ctx.Err() != nil {
			return ended(ctx)
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

// ended is how a conversation ended that did not come to its own end.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errLeft) {
		return nil
	}
	return errInterrupted
}
