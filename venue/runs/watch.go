package runs

import (
	"cmp"
	"context"
	"slices"

	"usher/ucan"
)

type watchKey struct{}

// WithWatch returns a context in which begun is told of the first run that [Book.Start]
// starts, before that does anything: whoever calls an operation that waits for its run
// follows the run by it. It must not wait. Runs that the run starts are not told.
//
// The first [Run.Events] after 0 misses no piece of the run, and must come: what nobody
// takes waits there.
func WithWatch(ctx context.Context, begun func(*Run)) context.Context {
	return context.WithValue(ctx, watchKey{}, begun)
}

// watcherOf is who is told of a run that starts in ctx, and the context of what the run does.
func watcherOf(ctx context.Context) (context.Context, func(*Run)) {
	begun, _ := ctx.Value(watchKey{}).(func(*Run))
	if begun == nil {
		return ctx, nil
	}
	return WithWatch(ctx, nil), begun
}

// withoutWatch returns the context of a run that goes on: it may be that of another one, which made
// room for it or ended, and who watches that is told nothing of it.
func withoutWatch(ctx context.Context) context.Context {
	return WithWatchBelow(WithWatch(context.WithoutCancel(ctx), nil), nil)
}

type messageKey struct{}

// ByMessage returns a context in which a task that is part of no other run is recorded with
// the id of the message that gave it, as whoever sent that chose it.
func ByMessage(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, messageKey{}, id)
}

// messageOf is the id of the message that gives a task.
func messageOf(ctx context.Context) string {
	id, _ := ctx.Value(messageKey{}).(string)
	return id
}

type belowKey struct{}

// WithWatchBelow returns a context in which began is told of each run that begins in what is
// done by it, but the first: before that does anything, with the run that starts it. It must
// not wait.
func WithWatchBelow(ctx context.Context, began func(r, by *Run)) context.Context {
	return context.WithValue(ctx, belowKey{}, began)
}

// tellBelow tells who watches that a run begins which another started.
func (r *Run) tellBelow(ctx context.Context) {
	if began, _ := ctx.Value(belowKey{}).(func(r, by *Run)); began != nil && From(ctx) != nil {
		began(r, From(ctx))
	}
}

// watch is who is told of an owner's runs.
type watch struct {
	owner ucan.DID
	began func(*Run)
}

// Watch has began told of the runs of owner's that execute now, and of those that begin or go
// on until stop is called. It must not wait, and may be told of one twice.
func (b *Book) Watch(owner ucan.DID, began func(*Run)) (stop func()) {
	w := &watch{owner, began}
	b.mu.Lock()
	b.watches = append(b.watches, w)
	var all []*Run
	for _, r := range b.live {
		all = append(all, r)
	}
	b.mu.Unlock()
	slices.SortFunc(all, func(x, y *Run) int { return cmp.Compare(x.ID(), y.ID()) }) // who started one before it
	for _, r := range all {
		b.tell(r, w)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.watches = slices.DeleteFunc(slices.Clone(b.watches), func(other *watch) bool { return other == w })
	}
}

// WentOn is the number of the last event of the run's log before it went on: 0 where it did
// not rest.
func (r *Run) WentOn() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wentOn
}

// enters tells who watches that a run begins or goes on.
func (b *Book) enters(r *Run) {
	if r.again {
		var seq uint64
		if r.session != nil {
			seq = r.session.log.last()
		}
		r.mu.Lock()
		r.wentOn = max(seq, r.seq)
		r.mu.Unlock()
	}
	b.mu.Lock()
	list := b.watches[:len(b.watches):len(b.watches)]
	b.mu.Unlock()
	b.tell(r, list...)
}

func (b *Book) tell(r *Run, list ...*watch) {
	for _, w := range list {
		if w.owner == r.owner {
			w.began(r)
		}
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
