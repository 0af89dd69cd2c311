package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"usher/tools"
	"usher/tools/grid"
	"usher/venue"
	"usher/venue/runs"
)

type runCmd struct {
	onAgent
	Message string `arg:"" optional:"" default:"-" help:"The message; - reads it from standard input."`
	Session string `placeholder:"ID" help:"The session to go on in; without it, a new one."`

	// Taken so that an error can say what to do.
	More []string `arg:"" optional:"" hidden:""`
}

func (c *runCmd) Run(ctx context.Context, s *streams) error {
	if len(c.More) > 0 {
		return misusef("the message is one argument: put it in quotes, for example usher run %s %q", c.Agent, strings.Join(append([]string{c.Message}, c.More...), " "))
	}
	if c.Message == "-" {
		raw, err := s.piped(ctx, "message")
		if err != nil {
			return err
		}
		c.Message = string(raw)
	}
	if strings.TrimSpace(c.Message) == "" {
		return misusef("the message is empty: say something to %s", c.Agent)
	}
	defer s.observe(ctx)()
	return c.withAgent(ctx, s, c.Agent, func(_ *venue.User, agent *venue.Agent) error {
		v := s.view()
		// A person sees the answer come; a file or a pipe gets it alone, and only of
		// a turn that ended well, so that what reads it never takes a word on the way,
		// or half an answer, for the whole.
		v.whole = s.paint.tty == nil
		if !c.JSON && c.Session == "" && c.dir != "" { // in memory it ends here
			v.announce = "session %s (go on with --session %[1]s)"
		}
		if err := s.noteCut(ctx, agent, c.Session); err != nil {
			return err
		}
		err := v.show(agent.ChatIn(ctx, c.Session, c.Message), c.JSON)
		c.noteWaits(s, err)
		return interrupted(ctx, c.explain(agent, err))
	})
}

// piped reads standard input to its end, or until ctx ends.
func (s *streams) piped(ctx context.Context, what string) ([]byte, error) {
	in, done := cancellable(ctx, s.in)
	defer done()
	raw, err := io.ReadAll(in)
	if err != nil {
		return nil, interrupted(ctx, fmt.Errorf("read %s: %w", what, err))
	}
	return raw, nil
}

// interrupted is err, or that a person or a signal ended the command where err
// comes of that.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

type invokeCmd struct {
	onVenue
	Operation string `arg:"" help:"The operation: covia:read, v/ops/covia/read, or one of yours such as o/greet."`
	Input     string `arg:"" optional:"" default:"{}" placeholder:"JSON|@FILE|-" help:"Its input, a JSON object; @FILE reads it from a file, - from standard input. Give secrets that way."`
}

// Run prints what the operation returned. A secret is printed too: its owner
// asks for it in person.
func (c *invokeCmd) Run(ctx context.Context, s *streams) error {
	input, err := c.input(ctx, s)
	if err != nil {
		return err
	}
	defer s.observe(ctx)()
	return c.opened(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := u.Invoke(ctx, c.Operation, input)
		if err == nil {
			out, err = s.outcome(ctx, u, out)
		}
		if err != nil {
			return interrupted(ctx, c.uninvoked(ctx, u, err))
		}
		return s.printJSON(out)
	})
}

// input is what was typed, or piped.
func (c *invokeCmd) input(ctx context.Context, s *streams) (json.RawMessage, error) {
	if c.Input != "-" {
		return s.object(c.Input)
	}
	raw, err := s.piped(ctx, "input")
	if err != nil {
		return nil, err
	}
	return raw, checkObject(raw)
}

// outcome waits for the job that out says was started, which ends with the
// command, and returns its output. Any other output is returned as it is.
func (s *streams) outcome(ctx context.Context, u *venue.User, out json.RawMessage) (json.RawMessage, error) {
	var job grid.Status
	started := json.Unmarshal(out, &job) == nil && job.Status == runs.Started
	if started { // or it speaks of something else
		_, err := u.Run(ctx, job.ID)
		started = err == nil
	}
	if !started {
		return out, nil
	}
	s.note("job " + job.ID + " runs: waiting for its outcome; Ctrl-C stops it")
	out, err := u.Invoke(ctx, "grid:jobResult", map[string]string{"id": job.ID})
	if err != nil && ctx.Err() != nil { // else it would go on in a venue that stays up
		err = errors.Join(err, u.Stop(context.WithoutCancel(ctx), job.ID))
	}
	return out, err
}

// checkObject says what to write where something is no JSON object, and does
// not repeat what may be a secret.
func checkObject(raw []byte) error {
	const advice = `write one such as '{"path":"w/notes/a"}', or leave it out for {}`
	var object map[string]json.RawMessage
	err := json.Unmarshal(raw, &object)
	if fault, ok := errors.AsType[*json.SyntaxError](err); ok {
		return misusef("the input is not JSON (%w, at byte %d), and has to be an object: %s", fault, fault.Offset, advice)
	}
	if err != nil || object == nil { // null is no error
		return misusef("the input is JSON, but not an object: %s", advice)
	}
	return nil
}

// uninvoked is the error of an operation; one that another name or another input
// would mend is misuse.
func (c *invokeCmd) uninvoked(ctx context.Context, u *venue.User, err error) error {
	_, unknown := errors.AsType[*tools.NotFoundError](err)
	_, invalid := errors.AsType[*tools.InputError](err)
	if unknown || invalid {
		return misuse{err}
	}
	return c.unknownAgent(ctx, u, err)
}
