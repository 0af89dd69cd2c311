package cli

import (
	"context"
	"encoding/json"
	"errors"

	"usher/tools"
	"usher/tools/grid"
	"usher/venue"
	"usher/venue/runs"
)

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
	return c.useVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := u.Invoke(ctx, c.Operation, input)
		if err == nil {
			out, err = s.outcome(ctx, u, out)
		}
		if err != nil {
			return interruptionOf(ctx, c.invokeError(ctx, u, err))
		}
		return s.printJSON(out)
	})
}

// input is what was typed, or piped.
func (c *invokeCmd) input(ctx context.Context, s *streams) (json.RawMessage, error) {
	if c.Input != "-" {
		return s.object(c.Input)
	}
	raw, err := s.readPipe(ctx, "input")
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

// invokeError is the error of an operation; one that another name or another input
// would mend is misuse.
func (c *invokeCmd) invokeError(ctx context.Context, u *venue.User, err error) error {
	_, unknown := errors.AsType[*tools.NotFoundError](err)
	_, invalid := errors.AsType[*tools.InputError](err)
	if unknown || invalid {
		return misuse{err}
	}
	return c.unknownAgent(ctx, u, err)
}
