package tools

import "context"

// Observer is shown the calls that come to a gate, as they are decided.
type Observer interface {
	// Deciding begins a decision, which is made in the context that it returns;
	// the handler runs in the caller's. decided ends it: err is why the call does
	// not run, nil where it does.
	Deciding(ctx context.Context) (_ context.Context, decided func(r *Ruling, err error))
}

// nobody observes, and costs nothing.
type nobody struct{}

func (nobody) Deciding(ctx context.Context) (context.Context, func(*Ruling, error)) {
	return ctx, func(*Ruling, error) {}
}
