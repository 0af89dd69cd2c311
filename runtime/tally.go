package runtime

import (
	"context"
	"sync"
)

// tally counts the model calls of a turn and of those that it led to.
type tally struct {
	above *tally // of the turn that led to this one

	mu    sync.Mutex
	spent Spending
}

type tallyKey struct{}

func tallyOf(ctx context.Context) *tally {
	t, _ := ctx.Value(tallyKey{}).(*tally)
	return t
}

// below begins t under the tally of ctx. A context value is right here: it has
// to reach turns through tools that do not know of it, and counts alone hang on
// it.
func (t *tally) below(ctx context.Context) context.Context {
	t.above = tallyOf(ctx)
	return context.WithValue(ctx, tallyKey{}, t)
}

// CarryTally returns to with model calls counted for the turn that from belongs
// to: for work that a turn starts and that may outlive it.
func CarryTally(to, from context.Context) context.Context {
	if t := tallyOf(from); t != nil {
		return context.WithValue(to, tallyKey{}, t)
	}
	return to
}

// add counts a call, for the turn and for all above it.
func (t *tally) add(used Usage) {
	for ; t != nil; t = t.above {
		t.mu.Lock()
		t.spent.Calls++
		t.spent.Usage = t.spent.Usage.Plus(used)
		t.mu.Unlock()
	}
}

func (t *tally) total() Spending {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spent
}
