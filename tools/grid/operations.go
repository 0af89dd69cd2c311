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

// maxTimeout bounds the timeout of grid:jobResult, in milliseconds: a day.
const maxTimeout = 24 * 60 * 60 * 1000

// Operations returns grid:run, grid:invoke, grid:jobStatus and grid:jobResult.
//
// Running needs invoke alone (COG-13, "Resource Extraction"): what the
// operation inside needs is asked of it. Looking at a job needs crud/read on
// j/<id>.
func Operations(jobs Jobs) []*tools.Operation {
	return []*tools.Operation{
		tools.New("grid:run",
			"Run an operation and wait for its result.",
			runInput.needs,
			func(ctx context.Context, call tools.Call, in runInput) (json.RawMessage, error) {
				return jobs.Run(ctx, call, in.Operation, in.object())
			},
			tools.Within(caps.ScopeAbility("invoke")), tools.Undigested(), tools.Starting(inside)),
		tools.New("grid:invoke",
			"Start an operation as a job and return at once with the job's id and status.",
			runInput.needs,
			func(ctx context.Context, call tools.Call, in runInput) (Status, error) {
				return jobs.Start(ctx, call, in.Operation, in.object())
			},
			tools.Within(caps.ScopeAbility("invoke")), tools.Undigested(), tools.Starting(inside)),
		tools.New("grid:jobStatus",
			"Look at a job: its status, and its output or error when it has ended.",
			statusInput.needs,
			func(ctx context.Context, call tools.Call, in statusInput) (Status, error) {
				return jobs.Status(ctx, call, in.ID)
			},
			tools.Within(caps.ScopeUnder("crud/read", "j", 1, 1)), tools.ReadOnly()),
		tools.New("grid:jobResult",
			"Wait for a job to end and return its output.",
			resultInput.needs,
			func(ctx context.Context, call tools.Call, in resultInput) (json.RawMessage, error) {
				return jobs.Result(ctx, call, in.ID, time.Duration(in.Timeout)*time.Millisecond)
			},
			tools.Within(caps.ScopeUnder("crud/read", "j", 1, 1)), tools.ReadOnly()),
	}
}

type runInput struct {
	Operation string          `json:"operation" jsonschema:"the operation to run, for example covia:read"`
	Input     json.RawMessage `json:"input,omitempty" jsonschema:"the input of that operation, an object"`
	Venue     json.RawMessage `json:"venue,omitempty" jsonschema:"leave out: operations run in this venue"`
}

type statusInput struct {
	ID    string          `json:"id" jsonschema:"the job's id"`
	Venue json.RawMessage `json:"venue,omitempty" jsonschema:"leave out: jobs are those of this venue"`
}

type resultInput struct {
	ID      string          `json:"id" jsonschema:"the job's id"`
	Timeout int64           `json:"timeout,omitempty" jsonschema:"how long to wait at most, in milliseconds; 0 or left out is without limit"`
	Venue   json.RawMessage `json:"venue,omitempty" jsonschema:"leave out: jobs are those of this venue"`
}

func (in runInput) needs() []caps.Request {
	if strings.TrimSpace(in.Operation) == "" {
		return invalid(errors.New("operation is missing: name the operation to run, for example covia:read"))
	}
	if err := here(in.Venue); err != nil {
		return invalid(err)
	}
	if _, err := object(in.Input); err != nil {
		return invalid(err)
	}
	return []caps.Request{caps.NeedAbility("invoke")}
}

// inside is the operation that a call runs, and its input.
func inside(input json.RawMessage) []tools.Invocation {
	var in runInput
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	return []tools.Invocation{{Operation: in.Operation, Input: in.object()}}
}

// object is the input as the operation inside gets it; needs has refused what
// is none.
func (in runInput) object() json.RawMessage {
	raw, _ := object(in.Input)
	return raw
}

func (in statusInput) needs() []caps.Request {
	if err := here(in.Venue); err != nil {
		return invalid(err)
	}
	return read(in.ID)
}

func (in resultInput) needs() []caps.Request {
	if err := here(in.Venue); err != nil {
		return invalid(err)
	}
	if in.Timeout < 0 || in.Timeout > maxTimeout {
		return invalid(fmt.Errorf("timeout is %d: give milliseconds from 0 to %d", in.Timeout, maxTimeout))
	}
	return read(in.ID)
}

// read is the requirement of looking at a job. An id is one segment: a path in
// its place would reach something else.
func read(id string) []caps.Request {
	if id == "" {
		return invalid(errors.New("id is missing: give the id of the job, as grid:invoke returned it"))
	}
	at, err := caps.ParseSegments([]string{"j", id})
	if err != nil {
		return invalid(fmt.Errorf("id %q is no job id: %w", id, err))
	}
	return []caps.Request{caps.NeedOn("crud/read", at)}
}

func invalid(err error) []caps.Request { return []caps.Request{caps.Invalid(err)} }

// here refuses another venue rather than run in this one what was meant for it.
func here(venue json.RawMessage) error {
	switch string(bytes.TrimSpace(venue)) {
	case "", "null", `""`:
		return nil
	}
	return errors.New("venue is given: this venue runs its own operations only: leave it out")
}

// object takes a JSON object, or a JSON text that holds one: models often send
// objects so. Nothing is an empty object.
func object(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
		raw = bytes.TrimSpace([]byte(text))
	}
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return nil, errors.New(`input is not a JSON object: send one, for example {"path":"w/notes"}`)
	}
	return raw, nil
}
