package wrap

import (
	"context"
	"fmt"
	"iter"
	"time"

	"golang.org/x/time/rate"

	"usher/runtime"
	"usher/tools/fault"
)

// LimitOptions are the limits of [Limit]. A negative one admits nothing.
type LimitOptions struct {
	PerMinute  int // calls begun in a minute; 0 is no limit
	Burst      int // calls that may begin at once after a quiet time; 0 is 1
	Concurrent int // calls running at once; 0 is no limit
}

// LimitError says that a call did not fit a limit in the time that it had.
type LimitError struct {
	Limit string        // for example "60 calls a minute"
	Wait  time.Duration // how long the call would have had to wait; 0 where that is not known
	cause error
}

func (e *LimitError) Error() string {
	text := "rate limit: " + e.Limit
	if e.Wait > 0 {
		text += fmt.Sprintf(": the call would wait %s, longer than its deadline allows", e.Wait.Round(time.Millisecond))
	}
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap returns why the call's context ended, if it did.
func (e *LimitError) Unwrap() error { return e.cause }

// Limit returns m with its calls held back to the limits. A call waits for its
// place until ctx ends; one that would get it only after ctx's deadline fails
// at once. Errors are a *[LimitError]. A [runtime.Delay] tells the consumer of a
// wait of a second or more for the rate.
func Limit(m runtime.Model, opts LimitOptions) runtime.Model {
	l := &limited{model: m, opts: opts}
	if opts.PerMinute > 0 {
		l.rate = rate.NewLimiter(rate.Limit(float64(opts.PerMinute)/60), max(opts.Burst, 1))
	}
	if opts.Concurrent > 0 {
		l.places = make(chan struct{}, opts.Concurrent)
	}
	return l
}

type limited struct {
	model  runtime.Model
	opts   LimitOptions
	rate   *rate.Limiter
	places chan struct{}
}

var (
	_ runtime.Model   = (*limited)(nil)
	_ runtime.Wrapper = (*limited)(nil)
)

func (l *limited) Unwrap() runtime.Model { return l.model }

func (l *limited) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	if l.opts.PerMinute < 0 || l.opts.Burst < 0 || l.opts.Concurrent < 0 {
		return failing(&LimitError{Limit: "a negative limit admits nothing: use 0 for none"})
	}
	return func(yield func(runtime.Chunk, error) bool) {
		// A place first: a call that took its turn in the rate and then waited
		// for a place would begin outside the rate.
		if l.places != nil {
			select {
			case l.places <- struct{}{}:
				defer func() { <-l.places }()
			case <-ctx.Done():
				yield(runtime.Chunk{}, &LimitError{Limit: fmt.Sprintf("%d calls at once", l.opts.Concurrent), cause: context.Cause(ctx)})
				return
			}
		}
		gone, err := l.turn(ctx, yield)
		if err != nil {
			yield(runtime.Chunk{}, err)
		}
		if err != nil || gone {
			return
		}
		for chunk, err := range l.model.Generate(ctx, req) {
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// noticed is the shortest wait that the consumer is told of.
const noticed = time.Second

// turn waits for the call's turn in the rate. It reports whether the consumer
// has left meanwhile.
func (l *limited) turn(ctx context.Context, yield func(runtime.Chunk, error) bool) (gone bool, err error) {
	if l.rate == nil {
		return false, nil
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	now := time.Now()
	turn := l.rate.ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	name := fmt.Sprintf("%d calls a minute", l.opts.PerMinute)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(now.Add(wait)) {
		turn.CancelAt(now)
		return false, &LimitError{Limit: name, Wait: wait}
	}
	if wait >= noticed && !yield(runtime.Chunk{Delay: &runtime.Delay{Reason: "rate limit: " + name, Wait: wait}}, nil) {
		turn.Cancel()
		return true, nil
	}
	if err := sleep(ctx, wait); err != nil {
		turn.Cancel()
		return false, &LimitError{Limit: name, cause: err}
	}
	return false, nil
}

// Code is [fault.RateLimited].
func (e *LimitError) Code() fault.Code { return fault.RateLimited }
