package wrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"

	"usher/runtime"
	"usher/tools/pause"
)

// RetryOptions adjusts [Retry]. The zero value is valid.
type RetryOptions struct {
	Tries         int            `json:"tries" jsonschema:"Calls in all, the first included. Default: 4."`
	First         time.Duration  `json:"first" example:"30s" jsonschema:"Wait after the first failure, doubled after each more. Default: 500ms."`
	Max           time.Duration  `json:"max" example:"30s" jsonschema:"Longest wait where the server names none. Default: 30s."`
	MaxRetryAfter time.Duration  `json:"max_retry_after" example:"30s" jsonschema:"Longest wait that a server may ask for; when it asks for more, the call fails. Default: 60s."`
	Rand          func() float64 `json:"-"` // in [0,1): spreads a wait between half and one and a half of it; nil is math/rand/v2
}

// Retry returns m with failed calls repeated: those with an error in whose chain
// one has Temporary() bool and says true, or none has it and one has
// RetryAfter() (time.Duration, bool) and knows when to come back. A call is only
// repeated while the consumer has had nothing of its answer but token counts;
// those of failed calls are added to those of later ones. Where the wait would
// outlast ctx's deadline the error comes at once, and so does one that wraps
// [runtime.ErrWindow]. A [runtime.Delay] tells the consumer of each wait.
func Retry(m runtime.Model, opts *RetryOptions) runtime.Model {
	var r RetryOptions
	if opts != nil {
		r = *opts
	}
	r.Tries = cmp.Or(r.Tries, 4)
	r.First = cmp.Or(r.First, 500*time.Millisecond)
	r.Max = cmp.Or(r.Max, 30*time.Second)
	r.MaxRetryAfter = cmp.Or(r.MaxRetryAfter, time.Minute)
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	return &over{m, func(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool) {
		calls := tries{yield: yield}
		// The library's own jitter draws from the global source.
		waits := backoff.ExponentialBackOff{InitialInterval: r.First, Multiplier: 2, MaxInterval: r.Max}
		for try := 1; ; try++ {
			err := calls.pass(ctx, m, req)
			if err == nil {
				return
			}
			wait, again := r.wait(ctx, err, try, waits.NextBackOff())
			if !again {
				if try > 1 {
					err = fmt.Errorf("after %d tries: %w", try, err)
				}
				yield(runtime.Chunk{}, err)
				return
			}
			late := runtime.Delay{Reason: err.Error(), Wait: wait, Try: try + 1, Tries: r.Tries}
			if !yield(runtime.Chunk{Delay: &late}, nil) {
				return
			}
			if stopped := pause.For(ctx, wait); stopped != nil {
				yield(runtime.Chunk{}, fmt.Errorf("%w while waiting to try again after: %w", stopped, err))
				return
			}
		}
	}}
}

// wait says how long to wait before the next call, usually so long, and whether
// there is one.
func (r *RetryOptions) wait(ctx context.Context, err error, try int, usual time.Duration) (time.Duration, bool) {
	// The same request never fits the window, however often it is made.
	if ctx.Err() != nil || final(err) || errors.Is(err, runtime.ErrWindow) || try >= r.Tries {
		return 0, false
	}
	var later delayer
	var passing temporary
	wait := time.Duration(float64(usual) * (0.5 + r.Rand()))
	wait = min(wait, r.Max)
	known := false
	if errors.As(err, &later) {
		var after time.Duration
		if after, known = later.RetryAfter(); known && after > 0 {
			wait = after
		}
	}
	// An error that says it is not temporary is not, whenever it says to come back.
	if told := errors.As(err, &passing); told && !passing.Temporary() || !told && !known {
		return 0, false
	}
	if known && wait > r.MaxRetryAfter {
		return 0, false
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return 0, false
	}
	return wait, true
}
