package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"usher/runtime"
	"usher/tools/fault"
)

// TimeoutOptions are the times that [Timeout] gives a call; 0 is no bound.
type TimeoutOptions struct {
	FirstChunk time.Duration // until the answer begins
	Between    time.Duration // from one piece of the answer to the next; the consumer's own time does not count
	Total      time.Duration // for the whole answer, the consumer's own time included
}

// TimeoutError says which time ran out. The same request may succeed later.
type TimeoutError struct {
	What  string        // "first chunk", "between chunks" or "total"
	Limit time.Duration // the time that was given
}

func (e *TimeoutError) Error() string {
	switch e.What {
	case whatFirst:
		return fmt.Sprintf("the model did not begin to answer within %s", e.Limit)
	case whatBetween:
		return fmt.Sprintf("the model fell silent for %s in the middle of its answer", e.Limit)
	}
	return fmt.Sprintf("the model did not complete its answer within %s", e.Limit)
}

// Temporary is true.
func (e *TimeoutError) Temporary() bool { return true }

// Timeout is true, as with net.Error.
func (e *TimeoutError) Timeout() bool { return true }

var _ Temporary = (*TimeoutError)(nil)

const (
	whatFirst   = "first chunk"
	whatBetween = "between chunks"
	whatTotal   = "total"
)

// Timeout returns m with its calls stopped when they take too long. The error
// is a *[TimeoutError]; where ctx itself ends, it is m's.
func Timeout(m runtime.Model, opts TimeoutOptions) runtime.Model {
	return &timed{m, opts}
}

type timed struct {
	model runtime.Model
	opts  TimeoutOptions
}

var (
	_ runtime.Model   = (*timed)(nil)
	_ runtime.Wrapper = (*timed)(nil)
)

func (t *timed) Unwrap() runtime.Model { return t.model }

func (t *timed) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		total := after(t.opts.Total, func() { cancel(&TimeoutError{whatTotal, t.opts.Total}) })
		defer total.stop()
		silence := after(t.opts.FirstChunk, func() { cancel(&TimeoutError{whatFirst, t.opts.FirstChunk}) })
		defer func() { silence.stop() }()
		finished := false
		for chunk, err := range t.model.Generate(ctx, req) {
			if chunk.Delay != nil && err == nil { // no answer yet: the alarm stays set
				if !yield(chunk, nil) {
					return
				}
				continue
			}
			silence.stop()
			if err != nil {
				if late := ranOut(ctx); late != nil {
					err = late
				}
				yield(chunk, err)
				return
			}
			finished = finished || chunk.Finish != ""
			if !yield(chunk, nil) {
				return
			}
			silence = after(t.opts.Between, func() { cancel(&TimeoutError{whatBetween, t.opts.Between}) })
		}
		// A model may end quietly when its context does; half an answer must
		// not pass for a whole one.
		if late := ranOut(ctx); late != nil && !finished {
			yield(runtime.Chunk{}, late)
		}
	}
}

// ranOut returns the time that ended ctx, if one did.
func ranOut(ctx context.Context) error {
	if late, ok := errors.AsType[*TimeoutError](context.Cause(ctx)); ok {
		return late
	}
	return nil
}

// alarm is a timer, or none.
type alarm struct{ timer *time.Timer }

func after(d time.Duration, ring func()) alarm {
	if d <= 0 {
		return alarm{}
	}
	return alarm{time.AfterFunc(d, ring)}
}

func (a alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// Code is [fault.Timeout].
func (e *TimeoutError) Code() fault.Code { return fault.Timeout }
