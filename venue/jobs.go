package venue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/grid"
	"usher/tools/orchestrate"
	"usher/tools/spend"
	"usher/ucan"
	"usher/venue/runs"
)

// JobError says that a job whose result was asked for has none. Where a budget
// ended it, the error unwraps to a [*spend.BudgetError].
type JobError struct {
	ID     string
	Status string
	Reason string
	Budget *spend.BudgetError // nil for any other reason
}

func (e *JobError) Error() string {
	return fmt.Sprintf("job %s ended %s: %s", e.ID, e.Status, e.Reason)
}

func (e *JobError) Unwrap() error {
	if e.Budget == nil {
		return nil // not a nil pointer in an error
	}
	return e.Budget
}

// jobs answers the grid operations, and keeps the record of an orchestration's
// run. What it starts goes through the gate with the authority of whoever started
// it.
type jobs struct {
	runs *runs.Book
	// discreet is a record as the caller may know it.
	discreet func(ctx context.Context, call tools.Call, rec runs.Record) runs.Record
	// unbegun reports whether a call is known not to have begun.
	unbegun func(ctx context.Context, auth tools.Authority, at tools.At) bool
	// isAgent reports whether a principal is an agent with an identity of its own.
	isAgent func(ucan.DID) bool
}

var (
	_ grid.Jobs        = (*jobs)(nil)
	_ orchestrate.Jobs = (*jobs)(nil)
)

func statusOf(j runs.Record) grid.Status {
	st := grid.Status{ID: j.ID, Op: j.Op, Status: j.Status, Created: j.Created, Updated: j.Updated, Output: j.Output, Error: j.Error, Code: string(j.Code)}
	if j.Status == runs.Waiting {
		st.Waits = j.Waits
	}
	if len(j.Steps) > 0 {
		st.Steps, _ = json.Marshal(j.Steps) // strings and raw JSON: cannot fail
	}
	return st
}

// job is the run of an operation that is named by reference.
func (s *jobs) job(ctx context.Context, call tools.Call, operation string, input json.RawMessage) (runs.Spec, runs.Work, error) {
	op, err := call.Resolve(ctx, operation)
	if err != nil {
		return runs.Spec{}, nil, err
	}
	spec := runs.Spec{Kind: runs.Job, Op: op.Path(), Ref: op.Reference(), Input: input, Key: call.Key()}
	return spec, func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		res, err := call.InRun(r.ID()).InvokeAt(ctx, runs.OfJob, op.Reference(), input)
		return res.Output, err
	}, nil
}

// errJobCut says why a job does not go on whose effect nobody knows.
var errJobCut = errors.New("the venue stopped while the job ran")

// resume is the work of a job that goes on: its operation is called again, unless it
// was begun and must not be made twice.
func (s *jobs) resume(ctx context.Context, gate *tools.Gate, rec *runs.Record, auth tools.Authority) (runs.Work, error) {
	ref := cmp.Or(rec.Ref, rec.Op)
	if rec.Began {
		op, err := gate.Resolve(ctx, auth, ref)
		if err != nil {
			return nil, err
		}
		if !op.Repeatable() && !s.unbegun(ctx, auth, runs.OfJob) {
			return nil, &tools.UnknownError{Operation: op.Path(), Why: errJobCut, Err: errJobCut}
		}
	}
	return func(ctx context.Context, _ *runs.Run) (json.RawMessage, error) {
		res, err := gate.Invoke(ctx, auth, tools.Invocation{Operation: ref, Input: rec.Input, At: runs.OfJob})
		return res.Output, err
	}, nil
}

// Unbegun is that of [orchestrate.Jobs].
func (s *jobs) Unbegun(ctx context.Context, call tools.Call, at tools.At) bool {
	return s.unbegun(ctx, call.Authority(), at)
}

func (s *jobs) Run(ctx context.Context, call tools.Call, operation string, input json.RawMessage) (json.RawMessage, error) {
	spec, work, err := s.job(ctx, call, operation, input)
	if err != nil {
		return nil, err
	}
	return s.runs.Here(ctx, call.Authority(), spec, work)
}

func (s *jobs) Start(ctx context.Context, call tools.Call, operation string, input json.RawMessage) (grid.Status, error) {
	spec, work, err := s.job(ctx, call, operation, input)
	if err != nil {
		return grid.Status{}, err
	}
	spec.Background = true
	r, err := s.runs.Start(ctx, call.Authority(), spec, work)
	if err != nil {
		return grid.Status{}, err
	}
	st := statusOf(r.Record())
	st.Status, st.Output, st.Error, st.Code = runs.Started, nil, "", "" // however quickly it ended
	return st, nil
}

func (s *jobs) Status(ctx context.Context, call tools.Call, id string) (grid.Status, error) {
	rec, err := s.runs.Find(ctx, call.Owner(), id)
	return statusOf(s.discreet(ctx, call, rec)), err
}

var errJobTimeout = fault.New(fault.Timeout, "the job has not ended in that time: ask again later")

var errJobWaitsForItself = fault.New(fault.WaitsForItself, "the job cannot wait for its own result")

func (s *jobs) Result(ctx context.Context, call tools.Call, id string, timeout time.Duration) (json.RawMessage, error) {
	if r := s.runs.Live(call.Owner(), id); r != nil {
		if s.runs.Within(call.Owner(), call.Authority().Run(), id) {
			return nil, fmt.Errorf("job %s: %w", id, errJobWaitsForItself)
		}
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, timeout, errJobTimeout)
			defer cancel()
		}
		output, err := r.Wait(ctx)
		if err == nil {
			return output, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	rec, err := s.runs.Find(ctx, call.Owner(), id)
	if err != nil {
		return nil, err
	}
	if rec = s.discreet(ctx, call, rec); rec.Status != runs.Complete {
		return nil, &JobError{ID: id, Status: rec.Status, Reason: rec.Error, Budget: rec.Budget}
	}
	return rec.Output, nil
}

// Orchestrate keeps the record of an orchestration: in the run that was started for it,
// or else in one of its own.
func (s *jobs) Orchestrate(ctx context.Context, call tools.Call, op string, input json.RawMessage, work orchestrate.Work) (json.RawMessage, error) {
	in := func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		var past []orchestrate.Step
		for _, st := range r.Record().Steps {
			past = append(past, orchestrate.Step(st))
		}
		return work(ctx, call.InRun(r.ID()), past, func(ctx context.Context, st orchestrate.Step) error {
			return r.Step(ctx, runtime.Step(st))
		})
	}
	if r := runs.From(ctx); r != nil && r.Claim(op) {
		return in(ctx, r)
	}
	return s.runs.Here(ctx, call.Authority(), runs.Spec{Kind: runs.Orchestration, Op: op, Input: input, Key: call.Key()}, func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		r.Claim(op)
		return in(ctx, r)
	})
}
