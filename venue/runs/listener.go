package runs

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"time"

	"usher/runtime"
	"usher/ucan"
	"usher/venue/store"
)

// Bounds of what waits for a slow listener. Entries of the log are never dropped,
// nor are the pieces of an answer: those that wait become fewer and longer ones.
const (
	maxNotes = 256     // beside the answer; more are dropped
	maxPiece = 4 << 10 // bytes to which pieces grow together
)

// listener is one who follows a run.
type listener struct {
	ready chan struct{}

	mu    sync.Mutex
	queue []eventView
	taken int // events at the head of the queue that are gone
	notes int // in the queue
}

func newListener() *listener {
	return &listener{ready: make(chan struct{}, 1), queue: make([]eventView, 0, 8)} // a turn with one call has as many
}

// eventView is an event of a run without its envelope, which is the same for all.
type eventView struct {
	seq   uint64
	at    time.Time
	event runtime.Event
}

// entry puts an event of the run into its envelope.
func (r *Run) entry(s eventView) runtime.Entry {
	e := runtime.Entry{Seq: s.seq, Time: s.at, Run: r.rec.ID, Agent: r.rec.Agent, Parent: r.rec.Parent, Event: s.event}
	if _, step := s.event.(runtime.Step); step {
		e.Agent = r.rec.Caller
	}
	return e
}

// put lets the listener have an event. It never waits.
func (l *listener) put(e eventView) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.seq == 0 {
		if n := len(l.queue); n > l.taken && l.queue[n-1].seq == 0 && merge(&l.queue[n-1].event, e.event) {
			return
		}
		if isNote(e.event) {
			if l.notes >= maxNotes {
				return
			}
			l.notes++
		}
	}
	if l.taken > len(l.queue)/2 && len(l.queue) == cap(l.queue) { // so that few are moved for each that comes
		n := copy(l.queue, l.queue[l.taken:])
		clear(l.queue[n:])
		l.queue, l.taken = l.queue[:n], 0
	}
	l.queue = append(l.queue, e)
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// isNote reports whether an event is no part of the log, nor of an answer.
func isNote(ev runtime.Event) bool {
	switch ev.(type) {
	case runtime.UsageDelta, runtime.ModelDelay:
		return true
	}
	return false
}

// merge puts a delta into the one before it, where both are pieces of one thing.
func merge(last *runtime.Event, next runtime.Event) bool {
	switch next := next.(type) {
	case runtime.TextDelta:
		if old, ok := (*last).(runtime.TextDelta); ok && len(old.Text) < maxPiece {
			*last = runtime.TextDelta{Text: old.Text + next.Text}
			return true
		}
	case runtime.ReasoningDelta:
		if old, ok := (*last).(runtime.ReasoningDelta); ok && len(old.Text) < maxPiece {
			*last = runtime.ReasoningDelta{Text: old.Text + next.Text}
			return true
		}
	case runtime.ToolCallDelta:
		if old, ok := (*last).(runtime.ToolCallDelta); ok && old.Index == next.Index && len(old.Arguments) < maxPiece {
			old.Arguments += next.Arguments
			*last = old
			return true
		}
	case runtime.UsageDelta:
		if _, ok := (*last).(runtime.UsageDelta); ok {
			*last = next
			return true
		}
	}
	return false
}

// next takes the first event that waits, if any does.
func (l *listener) next() (e eventView, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken == len(l.queue) {
		return e, false
	}
	e, l.queue[l.taken] = l.queue[l.taken], e
	if isNote(e.event) {
		l.notes--
	}
	if l.taken++; l.taken == len(l.queue) {
		l.queue, l.taken = l.queue[:0], 0
	}
	return e, true
}

// publish shows an event to all listeners. The caller holds r.mu.
func (r *Run) publish(e eventView) {
	if e.seq > 0 {
		if r.entries == nil {
			r.entries = make([]eventView, 0, 6) // as a turn with one call has
		}
		r.entries = append(r.entries, e)
	}
	for _, l := range r.listeners {
		l.put(e)
	}
}

// Show shows listeners an event that is not logged, such as a piece of an answer.
func (r *Run) Show(ev runtime.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.listeners) > 0 {
		r.publish(eventView{at: r.book.opts.Now(), event: ev})
	}
}

// Events follows the run: it yields the events of its log after the number
// after, and then those that come, deltas among them, until the run has ended or
// ctx ends. Deltas have the number 0 and may be missing.
func (r *Run) Events(ctx context.Context, after uint64) iter.Seq2[runtime.Entry, error] {
	return r.follow(ctx, after, true)
}

// follow is [Run.Events] for who started the run, and for others.
func (r *Run) follow(ctx context.Context, after uint64, starter bool) iter.Seq2[runtime.Entry, error] {
	return func(yield func(runtime.Entry, error) bool) {
		l := r.listen(after, starter)
		defer r.unlisten(l)
		for ended := false; ; {
			for e, waits := l.next(); waits; e, waits = l.next() {
				if !yield(r.entry(e), nil) {
					return
				}
			}
			if ended {
				return
			}
			select {
			case <-l.ready:
			case <-r.done:
				ended = true
			case <-ctx.Done():
				yield(runtime.Entry{}, context.Cause(ctx))
				return
			}
		}
	}
}

func (r *Run) listen(after uint64, starter bool) *listener {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.first; l != nil && after == 0 && starter {
		r.first = nil
		return l
	}
	l := newListener()
	for _, e := range r.entries {
		if e.seq > after {
			l.queue = append(l.queue, e)
		}
	}
	r.listeners = append(r.listeners, l)
	return l
}

func (r *Run) unlisten(l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners = slices.DeleteFunc(r.listeners, func(other *listener) bool { return other == l })
}

// Events follows a run by its id, also one that has ended.
func (b *Book) Events(ctx context.Context, owner ucan.DID, id string, after uint64) iter.Seq2[runtime.Entry, error] {
	return func(yield func(runtime.Entry, error) bool) {
		if r := b.Live(owner, id); r != nil {
			r.follow(ctx, after, false)(yield)
			return
		}
		rec, err := b.Find(ctx, owner, id)
		if err != nil {
			yield(runtime.Entry{}, err)
			return
		}
		below, from := logKey(owner, id, ""), ""
		if rec.Session != "" {
			below = entryPrefix(rec.Of, rec.Session)
			from = entryKey(rec.Of, rec.Session, max(rec.From, after+1))
		}
		for row, err := range store.Rows(ctx, b.opts.Store, below, from) {
			var e runtime.Entry
			if err == nil {
				err = json.Unmarshal(row.Value, &e)
			}
			switch {
			case err != nil:
				yield(e, err)
				return
			case e.Seq <= after || e.Run != id && e.Run != "":
			case e.Run == "" && rec.Session != "": // left between turns
			case !yield(e, nil):
				return
			}
			if _, last := e.Event.(runtime.TurnEnd); last && e.Run == id {
				return
			}
		}
	}
}
