package venue

import (
	"context"
	"iter"
	"sync"

	"usher/runtime"
	"usher/venue/runs"
)

// Attend begins to follow a run of the principal's that somebody else began, and returns it as
// a talk, whose [Talk.Since] tells of it and of the runs that it waits for: of those that
// execute now, and of those that begin or go on until stop is called.
func (p *Principal) Attend(id string) (t *Talk, stop func()) {
	t = &Talk{p: p, id: id, attached: true, below: family{signal: make(chan struct{}, 1)}}
	t.sees = func(context.Context) bool { return true } // it ends where that is no more so
	var mu sync.Mutex
	known := map[string]bool{id: true}
	told := make(map[*runs.Run]bool)
	return t, p.runs.Watch(p.DID(), func(r *runs.Run) {
		mu.Lock()
		defer mu.Unlock()
		rec := r.Record()
		by := rec.Parent
		if !known[by] || told[r] || rec.Background {
			return
		}
		known[r.ID()], told[r] = true, true
		var after uint64
		if up := p.runs.Live(p.DID(), by); up != nil {
			after = up.Seq()
		}
		t.below.add(r, by, after)
	})
}

// Since is [Talk.All] behind an event of the run's log, until the run ends or rests. It is for
// a talk of [Principal.Attend], and may be called again when it has.
func (t *Talk) Since(ctx context.Context, after uint64) iter.Seq2[TalkEvent, error] {
	return func(yield func(TalkEvent, error) bool) {
		if err := t.p.may(ctx, "grid:jobStatus", byID{t.id}); err != nil {
			yield(TalkEvent{}, err)
			return
		}
		t.after = after
		t.All(ctx)(yield)
	}
}

// events are those of a run that the talk tells of.
func (t *Talk) events(ctx context.Context, id string, r *runs.Run, after uint64) iter.Seq2[runtime.Entry, error] {
	if t.attached {
		return t.p.runs.Events(ctx, t.p.DID(), id, after)
	}
	return r.Events(ctx, after)
}
