package delegation

import (
	"context"
	"iter"
	"sync/atomic"

	"usher/runtime"
)

// model follows instructions, and lets something happen between two calls of one
// turn: once, before it asks for the next call.
type model struct {
	runtime.Model
	between atomic.Pointer[func() error]
}

func (m *model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == runtime.RoleTool {
			if happen := m.between.Swap(nil); happen != nil {
				if err := (*happen)(); err != nil {
					yield(runtime.Chunk{}, err)
					return
				}
			}
		}
		m.Model.Generate(ctx, req)(yield)
	}
}
