package venue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"usher/runtime"
)

// runJob runs a job that has begun. With no timeout the caller waits, and its
// leaving stops the job; with one the job runs in the background, and runJob
// returns nil when the time is up first. fn runs once, whatever happens.
func (v *Venue) runJob(ctx context.Context, j *job, timeout time.Duration, fn func(context.Context) (json.RawMessage, error)) error {
	if timeout == 0 {
		return v.finishJob(ctx, j, fn)
	}
	v.background(ctx, func(ctx context.Context) { _ = v.finishJob(ctx, j, fn) })
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-j.done:
		return j.err
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (v *Venue) finishJob(ctx context.Context, j *job, fn func(context.Context) (json.RawMessage, error)) error {
	output, err := v.safely(ctx, j.rec.ID, fn)
	if saveErr := j.end(context.WithoutCancel(ctx), output, err); saveErr != nil {
		v.log.ErrorContext(ctx, "job not stored", "job", j.rec.ID, "error", saveErr)
		return errors.Join(err, saveErr)
	}
	return err
}

// safely runs fn and makes an error of a panic: a model or a tool of somebody
// else's must not take the venue with it.
func (v *Venue) safely(ctx context.Context, job string, fn func(context.Context) (json.RawMessage, error)) (output json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			v.log.ErrorContext(ctx, "job panicked", "job", job, "panic", p, "stack", string(debug.Stack()))
			output, err = nil, fmt.Errorf("the job failed inside (panic: %v)", p)
		}
	}()
	return fn(ctx)
}

// jobTime bounds what runs in the background.
const jobTime = time.Hour

// ErrJobTime: a job ran longer than the limit.
var ErrJobTime = fmt.Errorf("the job ran longer than the limit of %s", jobTime)

// background runs fn in a goroutine that Close stops and waits for. It outlives
// what started it, from, belongs to the same trace, and is counted and paid for
// with it. After Close it runs at once, with a context that has ended.
func (v *Venue) background(from context.Context, fn func(context.Context)) {
	v.life.Lock()
	closed := v.closed
	if !closed {
		v.work.Add(1)
	}
	v.life.Unlock()
	if closed {
		fn(v.closing)
		return
	}
	go func() {
		defer v.work.Done()
		ctx, cancel := context.WithTimeoutCause(v.closing, jobTime, ErrJobTime)
		defer cancel()
		fn(runtime.Carry(ctx, from))
	}()
}
