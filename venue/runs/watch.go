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

type belowKey struct{}

// WatchedBelow returns a context in which began is told of each run that begins in what is
// done by it, but the first: before that does anything, with the run that starts it. It must
// not wait.
func WatchedBelow(ctx context.Context, began func(r, by *Run)) context.Context {
	return context.WithValue(ctx, belowKey{}, began)
}

// tellBelow tells who watches that a run begins which another started.
func (r *Run) tellBelow(ctx context.Context) {
	if began, _ := ctx.Value(belowKey{}).(func(r, by *Run)); began != nil && From(ctx) != nil {
		began(r, From(ctx))
	}
}

// Seq is the number of the last event of the run's log.
func (r *Run) Seq() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.entries); n > 0 {
		return r.entries[n-1].seq
	}
	return 0
}
