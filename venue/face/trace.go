package face

import (
	"context"

	"usher/ucan"
)

// Trace is what becomes known of a request while it is answered, for the log. It decides
// nothing.
type Trace struct {
	ID     string   // of the request
	Caller ucan.DID // zero where nobody came in
}

type traceKey struct{}

// WithTrace returns the context of a request that is traced. The trace is written by the
// goroutine that answers the request.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// noteCaller notes who makes a request.
func noteCaller(ctx context.Context, who ucan.DID) {
	if t, ok := ctx.Value(traceKey{}).(*Trace); ok {
		t.Caller = who
	}
}
