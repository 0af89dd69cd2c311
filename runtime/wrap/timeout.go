package wrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// TimeoutOptions are the times that [Timeout] gives a call; 0 is no bound.
type TimeoutOptions struct {
	FirstChunk time.Duration `json:"first_chunk" example:"30s" jsonschema:"Until the answer begins."`
	Between    time.Duration `json:"between" example:"30s" jsonschema:"Between two pieces of it, the consumer's own time left out."`
	Total      time.Duration `json:"total" example:"30s" jsonschema:"In all, the consumer's own time included."`
}

// Timeout returns m with its calls stopped when they take too long. The error
// is an [endpoint.ErrTimeout], and another try is worth it; where ctx itself
// ends, the error is m's.
func Timeout(m runtime.Model, opts TimeoutOptions) runtime.Model {
	return &over{m, func(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		alarm := func(d time.Duration, what string) func() bool {
			if d <= 0 {
				return func() bool { return false }
			}
			return time.AfterFunc(d, func() {
				cancel(endpoint.Transient(fmt.Sprintf(what, d), endpoint.ErrTimeout))
			}).Stop
		}
		defer alarm(opts.Total, "the model did not complete its answer within %s")()
		silence := alarm(opts.FirstChunk, "the model did not begin to answer within %s")
		defer func() { silence() }()
		finished := false
		for chunk, err := range m.Generate(ctx, req) {
			waits := chunk.Delay != nil && err == nil // no answer yet: the alarm stays set
			if !waits {
				silence()
			}
			if late := ranOut(ctx); err != nil && late != nil {
				err = late
			}
			finished = finished || chunk.Finish != ""
			if !yield(chunk, err) || err != nil {
				return
			}
			if !waits {
				silence = alarm(opts.Between, "the model fell silent for %s in the middle of its answer")
			}
		}
		// A model may end quietly when its context does; half an answer must
		// not pass for a whole one.
		if late := ranOut(ctx); late != nil && !finished {
			yield(runtime.Chunk{}, late)
		}
	}}
}

// ranOut returns the time that ended ctx, if one did.
func ranOut(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, endpoint.ErrTimeout) {
		return cause
	}
	return nil
}
