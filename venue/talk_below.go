package venue

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"sync"

	"usher/runtime"
	"usher/tools/agents"
	"usher/venue/runs"
)

// TalkEvent is what happens in a turn, or in a run that it waits for.
type TalkEvent struct {
	runtime.Entry
	Of    string // the run that it happens in
	Began *Began // that run begins, and Entry is none
	Ended error  // with Over, why the run came to no end
	Over  bool   // that run is over, and Entry is none
	Past  bool   // it happened before the run rested, which goes on
}

// Began is a run that a turn waits for, as whoever talks may know it.
type Began struct {
	Parent string // the run that started it
	Agent  string // whose turn it is; empty where it is no agent's

	Description string
	Caps        json.RawMessage // what the agent may do in it; nil where the caller may not know
}

// child is a run that another waits for.
type child struct {
	run   *runs.Run
	by    string        // the run that started it
	after uint64        // the last event of that by then
	done  chan struct{} // closed when it is told to its end
}

// family are the runs that a turn waits for.
type family struct {
	mu     sync.Mutex
	news   []*child      // that nobody follows yet
	signal chan struct{} // something is in news
}

// maxNews is how many runs wait to be followed: where nobody does, more are not told of.
const maxNews = 1000

func (f *family) add(r *runs.Run, by string, after uint64) {
	if r.Record().Background {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.news) >= maxNews {
		return
	}
	f.news = append(f.news, &child{run: r, by: by, after: after, done: make(chan struct{})})
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

func (f *family) take() []*child {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := f.news
	f.news = nil
	return news
}

// All is [Talk.Events] with what happens in the runs that the turn waits for, as far as the
// caller may look at them: behind what happened in the run that started one, and before what
// came of its call there.
func (t *Talk) All(ctx context.Context) iter.Seq2[TalkEvent, error] {
	return func(yield func(TalkEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		a := &all{t: t, items: make(chan TalkEvent), told: map[string]uint64{t.id: t.after}, moved: make(chan struct{})}
		turn := make(chan struct{})
		a.work.Go(func() { // follows what begins while the turn waits
			for {
				select {
				case <-t.below.signal:
					a.follow(ctx)
				case <-turn:
					return
				}
			}
		})
		var failed error
		go func() {
			defer close(a.items)
			defer a.work.Wait()
			defer close(turn)
			for e, err := range t.Events(ctx) {
				if failed = err; err != nil {
					return
				}
				a.tell(ctx, t.id, e, false)
			}
			a.tells(ctx, t.id, math.MaxUint64)
		}()
		defer func() {
			cancel()
			for range a.items { // until nothing of it runs any more
			}
		}()
		for h := range a.items {
			if !yield(h, nil) {
				return
			}
		}
		if failed != nil {
			yield(TalkEvent{}, failed)
		}
	}
}

// all tells what happens in a turn and below it, in its order.
type all struct {
	t     *Talk
	items chan TalkEvent
	work  sync.WaitGroup

	mu    sync.Mutex
	open  []*child
	told  map[string]uint64 // the last event that was told of runs
	moved chan struct{}     // closed when told is another
}

func (a *all) send(ctx context.Context, h *TalkEvent) {
	select {
	case a.items <- *h:
	case <-ctx.Done():
	}
}

// tell tells an event of a run, behind all that began before it there.
func (a *all) tell(ctx context.Context, run string, e runtime.Entry, past bool) {
	if e.Seq > 0 {
		a.tells(ctx, run, e.Seq)
	}
	a.send(ctx, &TalkEvent{Entry: e, Of: run, Past: past})
	if e.Seq > 0 {
		a.moves(run, e.Seq)
	}
}

// tells waits until what began in a run before an event is told.
func (a *all) tells(ctx context.Context, run string, seq uint64) {
	for _, c := range a.follow(ctx) {
		if c.by == run && c.after < seq {
			<-c.done
		}
	}
}

func (a *all) moves(run string, seq uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told[run] = seq
	close(a.moved)
	a.moved = make(chan struct{})
}

// ends notes that a run is told to its end: nothing waits for it any more.
func (a *all) ends(run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.told, run)
	close(a.moved)
	a.moved = make(chan struct{})
}

// follow begins to follow what has begun, and returns all that is not told to its end.
func (a *all) follow(ctx context.Context) []*child {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = slices.DeleteFunc(a.open, func(c *child) bool {
		select {
		case <-c.done:
			return true
		default:
			return false
		}
	})
	for _, c := range a.t.below.take() {
		a.open = append(a.open, c)
		a.told[c.run.ID()] = 0
		a.work.Go(func() {
			defer close(c.done)
			if a.comes(ctx, c) {
				a.t.follows(ctx, c, a)
			}
			a.ends(c.run.ID())
		})
	}
	return slices.Clone(a.open)
}

// comes waits until the events before a run are told.
func (a *all) comes(ctx context.Context, c *child) bool {
	for {
		a.mu.Lock()
		told, known := a.told[c.by]
		moved := a.moved
		a.mu.Unlock()
		if !known || told >= c.after {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// follows tells what happens in a run that the turn waits for.
func (t *Talk) follows(ctx context.Context, c *child, a *all) {
	r, rec := c.run, c.run.Record()
	if r.Owner() != t.p.DID() || t.p.Still(ctx, "grid:jobStatus", byID{rec.ID}) != nil {
		return // what others do for the turn is theirs
	}
	began := &Began{Parent: rec.Parent, Agent: rec.Agent}
	if rec.Agent != "" && t.p.Still(ctx, "agent:info", agents.Ref{AgentID: rec.Agent}) == nil {
		if o, err := t.p.agents.Offer(ctx, r.Authority(), rec.Agent); err == nil {
			began.Description = o.Config.Description
			began.Caps, _ = o.Caps.MarshalJSON() // of values: cannot fail
		}
	}
	a.send(ctx, &TalkEvent{Of: rec.ID, Began: began})
	for e, err := range t.events(ctx, rec.ID, r, 0) {
		if err != nil {
			break
		}
		if t.p.Still(ctx, "grid:jobStatus", byID{rec.ID}) != nil {
			break
		}
		a.tell(ctx, rec.ID, e, e.Seq > 0 && e.Seq <= r.WentOn())
	}
	a.tells(ctx, rec.ID, math.MaxUint64)
	_, err := r.Wait(ctx)
	a.send(ctx, &TalkEvent{Of: rec.ID, Over: true, Ended: err})
}
