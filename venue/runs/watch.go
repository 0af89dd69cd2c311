package runs

import "context"

type begunKey struct{}

// Watched returns a context in which begun is told of the first run that [Book.Start]
// starts, before that does anything: whoever calls an operation that waits for its run
// follows the run by it. It must not wait. Runs that the run starts are not told.
//
// The first [Run.Events] after 0 misses no piece of the run, and must come: what nobody
// takes waits there.
func Watched(ctx context.Context, begun func(*Run)) context.Context {
	return context.WithValue(ctx, begunKey{}, begun)
}

// watched is who is told of a run that starts in ctx, and the context of what the run does.
func watched(ctx context.Context) (context.Context, func(*Run)) {
	begun, _ := ctx.Value(begunKey{}).(func(*Run))
	if begun == nil {
		return ctx, nil
	}
	return Watched(ctx, nil), begun
}
