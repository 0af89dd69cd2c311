package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/tools"
)

// Jobs keeps the records of runs. The methods are called by one goroutine of a
// run at a time.
type Jobs interface {
	// Begin returns the job of this run. An enclosing job for this very
	// operation is reused.
	Begin(ctx context.Context, call tools.Call, op string, input json.RawMessage) (id string, err error)
	// Step writes the record of step s.N, or replaces it.
	Step(ctx context.Context, call tools.Call, job string, s Step) error
	// End writes the outcome. It is called once for each Begin.
	End(ctx context.Context, call tools.Call, job string, output json.RawMessage, failure error) error
}

// Statuses of a [Step].
const (
	Pending   = "PENDING"
	Started   = "STARTED"
	Complete  = "COMPLETE"
	Failed    = "FAILED"
	Cancelled = "CANCELLED"
)

// Step is the record of one step of a run.
type Step struct {
	N      int             `json:"n"`
	Name   string          `json:"name,omitempty"`
	Op     string          `json:"op"`
	Status string          `json:"status"`
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// StepError says which step of a run failed.
type StepError struct {
	N    int
	Name string
	Err  error
}

func (e *StepError) Error() string {
	s := step{number: e.N, name: e.Name}
	return fmt.Sprintf("%s failed: %v", &s, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }
