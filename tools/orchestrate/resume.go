package orchestrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"usher/caps/value"
	"usher/tools"
)

// errChanged: the document is another one than that whose steps are recorded.
var errChanged = errors.New("the orchestration was changed while a run of it rested: start it anew")

// resume takes over the steps as they were left. What is complete stays so; what had
// begun is called again where it may be made twice, or is known not to have begun.
func (r *run) resume(ctx context.Context, past []Step) error {
	if len(past) > len(r.plan.steps) {
		return errChanged
	}
	for i, s := range r.plan.steps {
		var was Step
		if i < len(past) {
			was = past[i]
		}
		if was.Op != "" && (was.Op != s.op || was.Name != s.name) {
			return errChanged
		}
		var err error
		switch was.Status {
		case complete:
			if r.outputs[i] = any(lossMark{}); !was.Lost {
				r.outputs[i], err = decodeFor(ctx, r.call, was.Output)
			}
		case started:
			if err = r.again(ctx, s); err != nil {
				was.Status, was.Error = failed, err.Error()
				err = &stepError{s, err}
				r.records[i] = was
				r.record(ctx, s)
			} else {
				was.Status = pending
			}
		case waiting:
			was.Status = pending
		case failed:
			err = &stepError{s, errors.New(was.Error)}
		case cancelled, "":
			was = Step{N: i, Name: s.name, Op: s.op, Status: pending}
		}
		if err != nil {
			return err
		}
		r.records[i] = was
	}
	return r.same(past)
}

// lossMark stands for what a step returned that could not be kept.
type lossMark struct{}

// again says why a step that had begun must not be called again; nil where it may.
func (r *run) again(ctx context.Context, s *step) error {
	op, err := r.call.Resolve(ctx, s.op)
	if err != nil {
		return err
	}
	if op.Repeatable() || r.jobs.Unbegun(ctx, r.call, s.at()) {
		return nil
	}
	return &tools.UnknownError{Operation: op.Path(), Why: errCut, Err: errCut}
}

var errCut = errors.New("the venue stopped while this step ran")

// same reports a step that would get another input than it had begun with.
func (r *run) same(past []Step) error {
	for i, was := range past {
		s := r.plan.steps[i]
		if was.Input == nil || was.Status == complete {
			continue
		}
		input, err := r.build(s.input)
		if err != nil {
			return &stepError{s, value.Within("input", err)}
		}
		// Whoever kept the record may have written the JSON in another way.
		if before, err := decode(was.Input); err != nil || !bytes.Equal(input, value.Append(nil, before)) {
			return fmt.Errorf("%s: %w", s, errChanged)
		}
	}
	return nil
}

// at is where in a run the step is called.
func (s *step) at() tools.At { return tools.At{N: s.number + 1} }
