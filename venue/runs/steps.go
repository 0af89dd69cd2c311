package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"usher/runtime"
)

// Claim takes the run for the steps of the orchestration op, once: a run of it
// inside the run gets one of its own.
func (r *Run) Claim(op string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claimed || r.rec.Op != op {
		return false
	}
	r.claimed = true
	return true
}

// Step notes how a step of an orchestration stands: as one event, however many
// steps there are.
// In a run that is to pause no more begin, which its error says.
func (r *Run) Step(ctx context.Context, s runtime.Step) error {
	r.mu.Lock()
	if r.rec.Paused && s.Status == Started {
		r.mu.Unlock()
		return new(runtime.RestError)
	}
	r.seq++
	e := r.entry(eventView{r.seq, r.book.opts.Now(), s})
	r.rec.Steps = place1(slices.Clone(r.rec.Steps), s) // records given out keep theirs
	r.publish(eventView{e.Seq, e.Time, e.Event})
	r.mu.Unlock()
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	key := logKey(r.owner, r.rec.ID, fmt.Sprintf("%08x", e.Seq))
	if len(raw) > maxRecord {
		e.Event = small(s)
		if raw, err = json.Marshal(e); err != nil {
			return err
		}
	}
	expect := make(map[string]uint64, 1)
	if err := r.expectOwner(ctx, expect); err != nil {
		return err
	}
	moved, err := r.book.opts.Store.Apply(ctx, expect, map[string][]byte{key: raw}, nil)
	if err == nil && moved != "" {
		err = errTaken
	}
	return err
}

// place1 puts a step in its place among the steps.
func place1(steps []runtime.Step, s runtime.Step) []runtime.Step {
	for len(steps) <= s.N {
		steps = append(steps, runtime.Step{N: len(steps)})
	}
	steps[s.N] = s
	return steps
}
