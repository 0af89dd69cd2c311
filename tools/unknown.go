package tools

import (
	"context"
	"errors"
	"fmt"

	"usher/tools/fault"
)

// UnknownError says that an operation began and that nobody can tell what came of
// it: it was stopped, it ran out of time, or its outcome could not be recorded. Its
// code is [fault.Unknown]: the call must not be made again before somebody looked.
type UnknownError struct {
	Operation string // catalogue path
	Why       error  // that it cannot be told
	Err       error  // what the handler returned, or why its outcome is not recorded
}

func (e *UnknownError) Error() string {
	return e.Why.Error() + ". Whether " + e.Operation + " took effect is unknown: look before you repeat it."
}

func (e *UnknownError) Unwrap() error { return e.Err }

// Code is [fault.Unknown].
func (e *UnknownError) Code() fault.Code { return fault.Unknown }

// UnknownOutcome is the error of a call whose outcome could not be recorded: failure, where
// it failed, and why not.
func UnknownOutcome(operation string, failure, why error) *UnknownError {
	return &UnknownError{Operation: operation, Why: fmt.Errorf("%w: %w", errUnrecorded, why), Err: errors.Join(why, failure)}
}

// errUnrecorded says why an outcome is unknown that a handler did return.
var errUnrecorded = errors.New("the outcome could not be recorded")

// publicError is the error of a handler as everybody gets it. What was stopped or took too
// long may have happened, unless it may be repeated anyway; a denial is as good as
// its word.
func (o *Operation) publicError(ctx context.Context, err error) error {
	if err == nil || o.Repeatable() && fault.Of(err) == fault.Waiting || o.Idempotent() {
		return err
	}
	switch code := fault.Of(err); {
	case code == fault.Waiting: // the handler cannot go on where it was
		return fault.New(fault.ApprovalRequired, err.Error()+": call "+o.path+" again when that has ended")
	case code == fault.Denied, code == fault.Unknown:
		return err
	case ctx.Err() != nil:
		why := context.Cause(ctx)
		if errors.Is(err, why) && !o.sealed {
			why = err
		}
		return &UnknownError{Operation: o.path, Why: why, Err: err}
	case code == fault.Timeout, code == fault.Canceled: // by the handler's own clock
		return &UnknownError{Operation: o.path, Why: err, Err: err}
	}
	return err
}
