package venue

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/grid"
	"usher/tools/orchestrate"
	"usher/ucan"
)

// jobService answers the grid operations, and keeps the record of an
// orchestration's run. What it starts goes through the gate with the
// authority of whoever started it.
type jobService struct{ v *Venue }

var (
	_ grid.Jobs        = jobService{}
	_ orchestrate.Jobs = jobService{}
)

func statusOf(j Job) grid.Status {
	st := grid.Status{ID: j.ID, Op: j.Op, Status: j.Status, Created: j.Created, Updated: j.Updated, Output: j.Output, Error: j.Error}
	if len(j.Steps) > 0 {
		st.Steps, _ = json.Marshal(j.Steps) // strings and raw JSON: cannot fail
	}
	return st
}

// prepare makes the job of an operation that is named by reference.
func (s jobService) prepare(ctx context.Context, call tools.Call, operation string, input json.RawMessage) (*job, func(context.Context) (json.RawMessage, error), error) {
	op, err := call.Resolve(ctx, operation)
	if err != nil {
		return nil, nil, err
	}
	j, err := s.v.newJob(call.Authority(), op.Path(), input)
	if err != nil {
		return nil, nil, err
	}
	run := func(ctx context.Context) (json.RawMessage, error) {
		res, err := call.InRun(j.rec.ID).Invoke(ctx, op.Path(), input)
		return res.Output, err
	}
	return j, run, nil
}

func (s jobService) Run(ctx context.Context, call tools.Call, operation string, input json.RawMessage) (json.RawMessage, error) {
	j, run, err := s.prepare(ctx, call, operation, input)
	if err != nil {
		return nil, err
	}
	if err := j.begin(ctx); err != nil {
		return nil, err
	}
	if err := s.v.runJob(ctx, j, 0, run); err != nil {
		return nil, err
	}
	return j.result(), nil
}

func (s jobService) Start(ctx context.Context, call tools.Call, operation string, input json.RawMessage) (grid.Status, error) {
	j, run, err := s.prepare(ctx, call, operation, input)
	if err != nil {
		return grid.Status{}, err
	}
	if err := j.begin(ctx); err != nil {
		return grid.Status{}, err
	}
	started := j.status()
	s.v.background(ctx, func(ctx context.Context) { _ = s.v.finishJob(ctx, j, run) })
	return started, nil
}

func (s jobService) Status(ctx context.Context, call tools.Call, id string) (grid.Status, error) {
	rec, err := s.v.jobs.find(ctx, call.Owner(), id)
	return statusOf(rec.discreet(s.v.mayKnowOf(ctx, call))), err
}

// ErrJobTimeout: a job did not end within the time that its result was waited for.
var ErrJobTimeout = fault.New(fault.Timeout, "the job has not ended in that time: ask again later")

// ErrJobWaitsForItself: the result of a job is waited for within the job.
var ErrJobWaitsForItself = fault.New(fault.WaitsForItself, "the job cannot wait for its own result")

// within reports whether the job is, or is part of, the job whole.
func (b *jobBook) within(owner ucan.DID, id, whole string) bool {
	for range 64 { // deeper than calls can nest
		if id == whole {
			return true
		}
		j := b.live(owner, id)
		if j == nil {
			return false
		}
		id = j.rec.Parent
	}
	return true
}

func (s jobService) Result(ctx context.Context, call tools.Call, id string, timeout time.Duration) (json.RawMessage, error) {
	if j := s.v.jobs.live(call.Owner(), id); j != nil {
		if s.v.jobs.within(call.Owner(), call.Authority().Run(), id) {
			return nil, fmt.Errorf("job %s: %w", id, ErrJobWaitsForItself)
		}
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, timeout, ErrJobTimeout)
			defer cancel()
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if output := j.result(); output != nil {
			return output, nil
		}
	}
	rec, err := s.v.jobs.find(ctx, call.Owner(), id)
	if err != nil {
		return nil, err
	}
	if rec = rec.discreet(s.v.mayKnowOf(ctx, call)); rec.Status != JobComplete {
		return nil, &JobError{ID: id, Status: rec.Status, Reason: rec.Error, Budget: rec.Budget}
	}
	return rec.Output, nil
}

// Begin returns the job of an orchestration's run: the one that was started
// for it, or else a new one.
func (s jobService) Begin(ctx context.Context, call tools.Call, op string, input json.RawMessage) (string, error) {
	auth := call.Authority()
	if j := s.v.jobs.live(auth.Owner(), auth.Run()); j != nil && j.claim(op) {
		return j.rec.ID, nil
	}
	j, err := s.v.newJob(auth, op, input)
	if err != nil {
		return "", err
	}
	j.claimed = true
	return j.rec.ID, j.begin(ctx)
}

// claim takes the job for the run of op, once: a run inside the run gets a job
// of its own.
func (j *job) claim(op string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.claimed || j.rec.Op != op {
		return false
	}
	j.claimed = true
	return true
}

// Step notes how a step stands.
func (s jobService) Step(ctx context.Context, call tools.Call, id string, step orchestrate.Step) error {
	j := s.v.jobs.live(call.Owner(), id)
	if j == nil {
		return &NoJobError{id}
	}
	j.mu.Lock()
	steps := append([]orchestrate.Step(nil), j.rec.Steps...) // records given out keep theirs
	for len(steps) <= step.N {
		steps = append(steps, orchestrate.Step{N: len(steps)})
	}
	steps[step.N] = step
	j.rec.Steps = steps
	j.mu.Unlock()
	return j.save(context.WithoutCancel(ctx))
}

// End closes the job that Begin made; one that was started for the run is
// closed by whoever started it.
func (s jobService) End(ctx context.Context, call tools.Call, id string, output json.RawMessage, failure error) error {
	if call.Authority().Run() == id {
		return nil
	}
	j := s.v.jobs.live(call.Owner(), id)
	if j == nil {
		return &NoJobError{id}
	}
	return j.end(context.WithoutCancel(ctx), output, failure)
}
