package ap

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"

	"usher/runtime"
	"usher/runtime/offline"
)

// guestModel is a model of the user's in the place of the programs. Once a request
// has brought an error and no piece of an answer, which more requests would only
// repeat, it is asked nothing more.
type guestModel struct {
	runtime.Model
	failed atomic.Pointer[error] // the first of those
}

var _ runtime.Wrapper = (*guestModel)(nil)

func (p *guestModel) Unwrap() runtime.Model { return p.Model }

func (p *guestModel) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		if err := p.failure(); err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		answers := false
		for chunk, err := range p.Model.Generate(ctx, req) {
			answers = answers || chunk.Text != "" || chunk.Reasoning != "" || chunk.Call != nil
			if err != nil && !answers && ctx.Err() == nil {
				p.failed.CompareAndSwap(nil, &err)
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// failure is why the model cannot be had; nil where it can, or is none.
func (p *guestModel) failure() error {
	if p == nil || p.failed.Load() == nil {
		return nil
	}
	return *p.failed.Load()
}

// stops reports whether the work cannot go on after an error: without a model that
// was plugged in, or with one that failed.
func (h *house) stops(ctx context.Context) bool {
	return h.plugged == nil || h.plugged.failure() != nil || ctx.Err() != nil
}

// follower does what it is told where that begins with "call", and leaves the rest to
// the model: one that declines to attack would prove nothing about the gate.
type follower struct{ runtime.Model }

var _ runtime.Wrapper = follower{}

func (f follower) Unwrap() runtime.Model { return f.Model }

func (f follower) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	if strings.HasPrefix(newTurn(req).task, "call ") {
		return offline.Model{}.Generate(ctx, req)
	}
	return f.Model.Generate(ctx, req)
}
