package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"usher/venue"
)

type chatCmd struct {
	fromConfig
	Agent   string `arg:"" help:"The agent's id."`
	Session string `placeholder:"ID" default:"main" help:"The session to go on in; empty is a new one."`
	JSON    bool   `name:"json" help:"Print each event as a line of JSON."`
}

func (c *chatCmd) Run(ctx context.Context, s *streams) error {
	defer s.observe(ctx)()
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		agent, err := u.Agent(ctx, c.Agent)
		if err != nil {
			return c.unknownAgent(ctx, u, err)
		}
		in, done := cancellable(ctx, s.in)
		defer done()
		talk := &chat{streams: s, from: &c.fromConfig, agent: agent, session: c.Session, json: c.JSON}
		if !s.interactive() {
			return talk.script(ctx, in)
		}
		return talk.converse(ctx, talk.lines(in, c.dir))
	})
}

// chat is a conversation with an agent.
type chat struct {
	*streams
	from    *fromConfig
	agent   *venue.Agent
	session string // empty is a new one
	json    bool

	mu      sync.Mutex // guards what follows
	stop    func()     // stops the turn that runs; nil between turns
	pressed int        // Ctrl-C, in a row
	left    bool       // the person left with it
}

// maxLine bounds a message, in bytes.
const maxLine = 1 << 20

// script takes each message of the input for a turn, or for a command as at the
// prompt. One that fails is told, and the others follow.
func (c *chat) script(ctx context.Context, in io.Reader) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	lines := &plainLines{Scanner: scanner}
	var failed error
	for {
		text, err := c.message(lines)
		if err != nil && text == "" {
			break
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		run := c.turn
		if name, ok := chatCommand(text); ok {
			if name == "/quit" {
				break
			}
			run, text = c.command, name
		}
		err = run(ctx, text)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			c.tell(err)
			failed = errQuiet
		}
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	return failed
}

// turn runs one turn. The session is then the one that it ran in; a new one is
// told by its id.
func (c *chat) turn(ctx context.Context, text string) error {
	turn := started(c.agent.ChatIn(ctx, c.session, text), func(session string) {
		if c.session == "" && !c.json {
			c.note("session " + session)
		}
		c.session = session
	})
	return c.from.explain(c.agent, c.show(turn, c.json))
}

// converse talks with a person until they leave.
func (c *chat) converse(ctx context.Context, in lines) error {
	defer c.interrupts.take(c.interrupt)()
	c.greet(ctx)
	for {
		text, err := c.message(in)
		switch {
		case ctx.Err() != nil:
			return c.ended()
		case errors.Is(err, errTyped):
			c.attend(nil)
			continue
		case errors.Is(err, errCtrlC):
			c.interrupt()
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read message: %w", err)
		case strings.TrimSpace(text) == "":
			continue
		}
		c.attend(nil)
		if err := in.remember(text); err != nil {
			c.note("what you type is not kept: " + err.Error())
		}
		if name, ok := chatCommand(text); ok {
			if name == "/quit" {
				return nil
			}
			if err := c.command(ctx, name); err != nil {
				c.tell(err)
			}
			continue
		}
		restore := in.hush()
		c.answer(ctx, text)
		restore()
		if ctx.Err() != nil {
			return c.ended()
		}
	}
}

// message reads one message: a line, and the next one where it ends in a
// backslash. Where the input ends instead, the message comes with the io.EOF.
func (c *chat) message(in lines) (string, error) {
	var text strings.Builder
	for prompt := "> "; ; prompt = "… " {
		line, err := in.next(prompt)
		if errors.Is(err, io.EOF) {
			return strings.TrimSuffix(text.String(), "\n"), err
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

// answer runs a turn that Ctrl-C stops.
func (c *chat) answer(ctx context.Context, text string) {
	turn, stop := context.WithCancel(ctx)
	defer stop()
	c.attend(stop)
	err := c.turn(turn, text)
	c.mu.Lock()
	c.stop = nil // pressed stays: the next Ctrl-C leaves
	c.mu.Unlock()
	switch {
	case err == nil || ctx.Err() != nil:
	case turn.Err() != nil:
		c.note("stopped")
	default:
		c.tell(err)
	}
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
		c.left = true
		c.interrupts.end()
	case c.stop != nil:
		c.stop()
	default:
		c.note("Ctrl-C again, or Ctrl-D, leaves")
	}
}

// ended is how a conversation ended that did not come to its own end.
func (c *chat) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return nil
	}
	return errInterrupted
}
