package orchestrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/tools"
)

// Jobs keeps the records of runs.
type Jobs interface {
	// Orchestrate has work run as a run of the operation op, and keeps its steps
	// and how it ended.
	Orchestrate(ctx context.Context, call tools.Call, op string, input json.RawMessage, work Work) (json.RawMessage, error)
	// Unbegun reports whether a call whose beginning is recorded is known not to have
	// begun: a person was to be asked first.
	Unbegun(ctx context.Context, call tools.Call, at tools.At) bool
}

// Work runs the steps of a plan with the call of its run, from where past left them:
// nothing of a run that begins. It records each change of a step, from one goroutine
// at a time: a step that cannot be recorded does not run.
type Work func(ctx context.Context, call tools.Call, past []Step, record func(context.Context, Step) error) (json.RawMessage, error)

// Statuses of a [Step].
const (
	pending   = "PENDING"
	started   = "STARTED"
	waiting   = "INPUT_REQUIRED" // it is called again when what it waits for is over
	complete  = "COMPLETE"
	failed    = "FAILED"
	cancelled = "CANCELLED"
)

// Step is the record of one step of a run.
type Step struct {
	N      int             `json:"n"`
	Name   string          `json:"name,omitempty"`
	Op     string          `json:"op"`
	Status string          `json:"status"` // PENDING, STARTED, INPUT_REQUIRED, COMPLETE, FAILED or CANCELLED
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Lost   bool            `json:"lost,omitempty"` // the output was too large to be kept: in its place stands its size
	Error  string          `json:"error,omitempty"`
}

// stepError says which step of a run failed.
type stepError struct {
	*step
	err error
}

func (e *stepError) Error() string {
	cause := e.err
	if errors.Is(cause, tools.ErrTooDeep) { // of all levels, the deepest says enough
		for at, ok := errors.AsType[*stepError](cause); ok; at, ok = errors.AsType[*stepError](cause) {
			cause = at.err
		}
	}
	return fmt.Sprintf("%s failed: %v", e.step, cause)
}

func (e *stepError) Unwrap() error { return e.err }
