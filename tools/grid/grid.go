// Package grid runs operations as jobs: grid:run waits for one, grid:invoke
// starts one, grid:jobStatus and grid:jobResult look at it, grid:jobCancel, jobPause
// and jobResume change what becomes of it, and grid:jobList lists all.
//
// [Operations] makes them over [Jobs], which the venue has. The operation inside goes
// through the gate again, with the caller's authority.
//
// What can be done with a job by its status:
//
//	status          cancel     pause    resume
//	STARTED         CANCELLED  PAUSED   as it is
//	INPUT_REQUIRED  CANCELLED  PAUSED   as it is
//	PAUSED          CANCELLED  as it is STARTED, or INPUT_REQUIRED where it waits
//	CANCELLED       as it is   error    error
//	COMPLETE        error      error    error
//	FAILED          error      error    error
//	REJECTED        error      error    error
package grid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"usher/caps"
	"usher/tools"
)

// Jobs runs operations and keeps their records. What it starts runs with
// call's authority and goes through the gate.
type Jobs interface {
	Manager
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
	Code    string          `json:"errorCode,omitempty"` // what went wrong, in a word
	Steps   json.RawMessage `json:"steps,omitempty"`     // of an orchestration
	Waits   []string        `json:"waits,omitempty"`     // while it waits: ids of requests for approval, and of runs
}

// Operations returns the operations of the package.
//
// Running needs invoke alone (COG-13, "Resource Extraction"): what the
// operation inside needs is asked of it. Looking at a job needs crud/read on
// j/<id>, listing all crud/read on j, and changing one job/manage on j/<id>.
func Operations(jobs Jobs) []*tools.Operation {
	job := tools.Within(caps.ScopeUnder("crud/read", "j", 1, 1))
	return append([]*tools.Operation{
		starts("grid:run", "Run an operation and wait for its result.", jobs.Run),
		starts("grid:invoke", "Start an operation as a job and return at once with the job's id and status.", jobs.Start),
		tools.New("grid:jobStatus", "Look at a job: its status, and its output or error when it has ended.", statusInput.needs,
			func(ctx context.Context, call tools.Call, in statusInput) (Status, error) {
				return jobs.Status(ctx, call, in.ID)
			}, job, tools.ReadOnly()),
		tools.New("grid:jobResult", "Wait for a job to end and return its output.", resultInput.needs,
			func(ctx context.Context, call tools.Call, in resultInput) (json.RawMessage, error) {
				return jobs.Result(ctx, call, in.ID, time.Duration(in.Timeout)*time.Millisecond)
			}, job, tools.ReadOnly()),
	}, manageOps(jobs)...)
}

// starts is an operation that starts the one that its input names.
func starts[Out any](name, description string, run func(context.Context, tools.Call, string, json.RawMessage) (Out, error)) *tools.Operation {
	return tools.New(name, description, runInput.needs,
		func(ctx context.Context, call tools.Call, in runInput) (Out, error) {
			return run(ctx, call, in.Operation, in.object())
		}, tools.Within(caps.ScopeAbility("invoke")), tools.WithoutDigest(), tools.WithKey(), tools.WithStarts(inside))
}

type runInput struct {
	Operation string          `json:"operation" jsonschema:"the operation to run, for example covia:read"`
	Input     json.RawMessage `json:"input,omitempty" jsonschema:"the input of that operation, an object"`
	Venue     json.RawMessage `json:"venue,omitempty" jsonschema:"leave out: operations run in this venue"`
}

func (in runInput) needs() []caps.Request {
	_, err := tools.Object(in.Input)
	if strings.TrimSpace(in.Operation) == "" {
		err = errors.New("operation is missing: name the operation to run, for example covia:read")
	}
	return unless(err, in.Venue, caps.NeedAbility("invoke"))
}

// object is the input as the operation inside gets it; needs has refused what
// is none.
func (in runInput) object() json.RawMessage {
	raw, _ := tools.Object(in.Input)
	return raw
}

// inside is the operation that a call runs, and its input.
func inside(input json.RawMessage) []tools.Invocation {
	var in runInput
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	return []tools.Invocation{{Operation: in.Operation, Input: in.object()}}
}

type statusInput struct {
	ID    string          `json:"id" jsonschema:"the job's id"`
	Venue json.RawMessage `json:"venue,omitempty" jsonschema:"leave out: jobs are those of this venue"`
}

// needs is the requirement of looking at a job.
func (in statusInput) needs() []caps.Request { return in.need("crud/read") }

// need is the requirement of an ability on a job. An id is one segment: a path in its
// place would reach something else.
func (in statusInput) need(can caps.Ability) []caps.Request {
	at, err := caps.ParseSegments([]string{"j", in.ID})
	if in.ID == "" {
		err = errors.New("id is missing: give the id of the job, as grid:invoke returned it")
	} else if err != nil {
		err = fmt.Errorf("id %q is no job id: %w", in.ID, err)
	}
	return unless(err, in.Venue, caps.NeedOn(can, at))
}

type resultInput struct {
	ID      string          `json:"id" jsonschema:"the job's id"`
	Timeout int64           `json:"timeout,omitempty" jsonschema:"how long to wait at most, in milliseconds; 0 or left out is without limit"`
	Venue   json.RawMessage `json:"venue,omitempty" jsonschema:"leave out: jobs are those of this venue"`
}

// maxTimeout bounds the timeout of grid:jobResult, in milliseconds: a day.
const maxTimeout = 24 * 60 * 60 * 1000

func (in resultInput) needs() []caps.Request {
	if in.Timeout < 0 || in.Timeout > maxTimeout {
		return []caps.Request{caps.Invalid(fmt.Errorf("timeout is %d: give milliseconds from 0 to %d", in.Timeout, maxTimeout))}
	}
	return statusInput{in.ID, in.Venue}.needs()
}

// unless returns what a call needs, unless there is an error, or another venue is
// named: what was meant for that one does not run here.
func unless(err error, venue json.RawMessage, need caps.Request) []caps.Request {
	switch string(bytes.TrimSpace(venue)) {
	case "", "null", `""`:
	default:
		err = errors.New("venue is given: this venue runs its own operations only: leave it out")
	}
	if err != nil {
		need = caps.Invalid(err)
	}
	return []caps.Request{need}
}
