package grid

import (
	"context"
	"encoding/json"
	"time"

	"usher/tools"
)

// Jobs runs operations and keeps their records. What it starts runs with
// call's authority and goes through the gate.
type Jobs interface {
	// Run runs the operation as a job and returns its output.
	Run(ctx context.Context, call tools.Call, operation string, input json.RawMessage) (json.RawMessage, error)
	// Start starts the job and returns at once. The job outlives ctx.
	Start(ctx context.Context, call tools.Call, operation string, input json.RawMessage) (Status, error)
	// Status returns the job as it is now. An unknown job is an error.
	Status(ctx context.Context, call tools.Call, id string) (Status, error)
	// Result waits for the end of the job and returns its output, or the error
	// that it failed with. A timeout of 0 sets no limit. Of a job in which a sealed
	// operation ran neither it nor Status tells more than "[redacted]": only
	// whoever waits in Run is given the output.
	Result(ctx context.Context, call tools.Call, id string, timeout time.Duration) (json.RawMessage, error)
}

// Status is a job as callers see it.
type Status struct {
	ID      string          `json:"id"`
	Op      string          `json:"op,omitempty"`
	Status  string          `json:"status"`
	Created int64           `json:"created"` // milliseconds since 1970
	Updated int64           `json:"updated"` // milliseconds since 1970
	Output  json.RawMessage `json:"output,omitempty"`
	Error   string          `json:"error,omitempty"`
	Steps   json.RawMessage `json:"steps,omitempty"` // of an orchestration
}
