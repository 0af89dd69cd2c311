package orchestrate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
)

// maxParallel bounds the steps of one run that work at the same time.
const maxParallel = 8

// run is one run of a plan. One goroutine decides and records; the workers do
// nothing but invoke, so records need no lock and start in the order of steps.
type run struct {
	plan  *Plan
	call  tools.Call
	jobs  Jobs
	write func(context.Context, Step) error

	input   any
	outputs []any
	records []Step
	left    int  // bytes that the spec at hand may still take
	ahead   bool // it only looks what it would start: what cannot be known yet is null

	failure error
	rest    error // why the run goes on later; nil where it does not
	cancel  context.CancelFunc
}

// outcome is what a worker hands back.
type outcome struct {
	step   *step
	output json.RawMessage
	value  any
	err    error
}

// whole runs the plan.
func (r *run) whole(ctx context.Context, past []Step) (output json.RawMessage, err error) {
	defer recoverPanic(r.plan.path, &err)
	if err := r.all(ctx, past); err != nil {
		return nil, err
	}
	if output, err = r.build(r.plan.result); err != nil {
		return nil, value.Within("result", err)
	}
	return output, nil
}

// recoverPanic makes an error of a panic within an operation.
func recoverPanic(operation string, err *error) {
	if v := recover(); v != nil {
		*err = &tools.PanicError{Operation: operation, Value: v}
	}
}

// all runs the steps. When it returns, none of them is running any more.
func (r *run) all(ctx context.Context, past []Step) error {
	ctx, r.cancel = context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer r.cancel()

	if len(past) > 0 {
		if err := r.resume(ctx, past); err != nil {
			return err
		}
	}
	for i, s := range r.plan.steps {
		if r.records[i].Status == "" {
			r.records[i] = Step{N: i, Name: s.name, Op: s.op, Status: pending}
			r.record(ctx, s)
		}
	}
	done := make(chan outcome, len(r.plan.steps)) // no worker waits for its reader
	running := 0
	for {
		for r.failure == nil && r.rest == nil && running < maxParallel {
			s := r.ready()
			if s == nil {
				break
			}
			if input, ok := r.start(ctx, s); ok {
				running++
				workers.Go(func() { done <- r.work(ctx, s, input) })
			}
		}
		if running == 0 {
			break
		}
		r.settle(ctx, <-done)
		running--
	}
	if r.failure == nil && r.rest != nil {
		return r.rest
	}
	for i, s := range r.plan.steps {
		if r.records[i].Status == pending { // it never started
			r.end(ctx, s, cancelled, nil)
		}
	}
	return r.failure
}

// ready returns the first step that waits for nothing; nil when there is none.
func (r *run) ready() *step {
	for i, s := range r.plan.steps {
		waits := slices.ContainsFunc(s.needs, func(n int) bool { return r.records[n].Status != complete })
		if r.records[i].Status == pending && !waits {
			return s
		}
	}
	return nil
}

// start puts the input of a step together and records that it begins: the
// record of an effect stands before the effect.
func (r *run) start(ctx context.Context, s *step) (json.RawMessage, bool) {
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); fault.Of(cause) == fault.Waiting {
			r.rest = cause
		} else {
			r.fail(r.cancelError(ctx))
		}
		return nil, false
	}
	input, err := r.build(s.input)
	if err == nil {
		err = r.call.Meter().Charge(ctx, tools.Steps, 1)
	}
	if err != nil {
		r.end(ctx, s, failed, value.Within("input", err))
		return nil, false
	}
	rec := &r.records[s.number]
	rec.Status, rec.Input = started, input
	if !r.record(ctx, s) {
		rec.Status = pending // it never starts
		return nil, false
	}
	return input, true
}

func (r *run) settle(ctx context.Context, o outcome) {
	switch {
	case o.err == nil:
		r.records[o.step.number].Output, r.outputs[o.step.number] = o.output, o.value
		r.end(ctx, o.step, complete, nil)
	case r.failure == nil && fault.Of(o.err) == fault.Waiting:
		if wait, ok := errors.AsType[*tools.WaitError](o.err); ok {
			r.records[o.step.number].Status = waiting
			r.record(ctx, o.step)
			r.rest = wait
		} else if r.rest == nil {
			r.rest = o.err
		}
	case r.failure == nil && ctx.Err() != nil && fault.Of(context.Cause(ctx)) == fault.Waiting: // as it began, so it is left
		r.rest = context.Cause(ctx)
	case ctx.Err() != nil && errors.Is(o.err, ctx.Err()):
		r.fail(r.cancelError(ctx))
		if fault.Of(o.err) == fault.Unknown {
			r.records[o.step.number].Error = o.err.Error()
		}
		r.end(ctx, o.step, cancelled, nil)
	default:
		r.end(ctx, o.step, failed, o.err)
	}
}

// end records how a step ended. The first that fails stops those that are running.
func (r *run) end(ctx context.Context, s *step, status string, err error) {
	rec := &r.records[s.number]
	if rec.Status = status; err != nil {
		rec.Error = err.Error()
		r.fail(&stepError{s, err})
	}
	r.record(ctx, s)
}

// fail keeps the first failure, and stops the steps that are running.
func (r *run) fail(err error) {
	if r.failure == nil {
		r.failure = err
	}
	r.cancel()
}

func (r *run) cancelError(ctx context.Context) error {
	return fmt.Errorf("orchestration %s was cancelled: %w", r.plan.path, context.Cause(ctx))
}

// record writes the record of a step, also when the caller has gone. A record
// that cannot be written ends the run: nothing runs unrecorded. Where that waits, the run
// does.
func (r *run) record(ctx context.Context, s *step) bool {
	err := r.write(context.WithoutCancel(ctx), r.records[s.number])
	switch {
	case err == nil:
	case fault.Of(err) == fault.Waiting:
		r.rest = cmp.Or(r.rest, err)
	default:
		err = fmt.Errorf("record %s: %w", s, err)
		if r.failure != nil {
			err = errors.Join(r.failure, err)
		}
		r.failure = err
		r.cancel()
	}
	return err == nil
}
