package wrap

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"usher/runtime"
	"usher/tools/fault"
	"usher/tools/pause"
)

// LimitOptions are the limits of [Limit]; 0 is no limit.
type LimitOptions struct {
	PerMinute  int `json:"per_minute" jsonschema:"Calls that begin within a minute."`
	Burst      int `json:"burst" jsonschema:"Calls that may begin at once after a quiet time. Default: 1."`
	Concurrent int `json:"concurrent" jsonschema:"Calls that run at the same time."`
}

// errLimit is in the error of a call that did not fit a limit in the time that
// it had.
var errLimit = fault.New(fault.RateLimited, "rate limit")

// Limit returns m with its calls held back to the limits. A call waits for its
// place until ctx ends; one that would get it only after ctx's deadline fails
// at once. The code of such errors is [fault.RateLimited]. A [runtime.Delay]
// tells the consumer of a wait of a second or more for the rate.
func Limit(m runtime.Model, opts LimitOptions) runtime.Model {
	var turns *rate.Limiter
	if opts.PerMinute > 0 {
		turns = rate.NewLimiter(rate.Limit(float64(opts.PerMinute)/60), max(opts.Burst, 1))
	}
	var places chan struct{}
	if opts.Concurrent > 0 {
		places = make(chan struct{}, opts.Concurrent)
	}
	return &over{m, func(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool) {
		// A place first: a call that took its turn in the rate and then waited
		// for a place would begin outside the rate.
		if places != nil {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			case <-ctx.Done():
				yield(runtime.Chunk{}, fmt.Errorf("%w: %d calls at once: %w", errLimit, opts.Concurrent, context.Cause(ctx)))
				return
			}
		}
		if turns == nil || wait(ctx, turns, opts.PerMinute, yield) {
			m.Generate(ctx, req)(yield)
		}
	}}
}

// noticed is the shortest wait that the consumer is told of.
const noticed = time.Second

// wait is for the call's turn, of so many a minute. It reports whether the call may
// begin; where it may not, the consumer has left, or is told why.
func wait(ctx context.Context, turns *rate.Limiter, perMinute int, yield func(runtime.Chunk, error) bool) bool {
	if ctx.Err() != nil {
		yield(runtime.Chunk{}, context.Cause(ctx))
		return false
	}
	now := time.Now()
	turn := turns.ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	limit := fmt.Errorf("%w: %d calls a minute", errLimit, perMinute)
	var err error
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(now.Add(wait)) {
		err = fmt.Errorf("%w: the call would wait %s, longer than its deadline allows", limit, wait.Round(time.Millisecond))
	} else if wait >= noticed && !yield(runtime.Chunk{Delay: &runtime.Delay{Reason: limit.Error(), Wait: wait}}, nil) {
		turn.Cancel()
		return false
	} else if stopped := pause.For(ctx, wait); stopped != nil {
		err = fmt.Errorf("%w: %w", limit, stopped)
	}
	if err != nil {
		turn.Cancel()
		yield(runtime.Chunk{}, err)
	}
	return err == nil
}
