package runs

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue/store"
)

// sessionLog is the log of an open session. What belongs together is written
// together: an answer and the intent to call its tools with the decision on the
// first of them, a result with the outcome in the ledger, the end of a turn with
// what was spent and the record of the run. Nothing is asked of a model, and
// nothing has an effect, before what led to it is written.
type sessionLog struct {
	book *Book
	of   tools.Life
	id   string

	headKey string
	below   []byte // what the keys of its entries begin with

	mu       sync.Mutex // held while a batch is written, so that batches keep their order
	run      *Run       // that has the turn
	head     Head
	unsaved  bool       // the head is to be written with the next batch
	marked   bool       // that messages wait is stored
	waiting  []logEntry // entries that the next batch takes along
	size     int        // of them, in bytes
	sizes    []int      // of the entries from head.From on, which the next request needs, in bytes
	total    int        // of those
	note     *note      // that waits for the ledger; nil for nothing
	direct   []decision // on direct calls that have no outcome yet
	outcomes []outcome  // of direct calls: written with their results
	failed   error      // why a batch could not be written: the log takes nothing more
	lost     []string   // calls whose outcomes could not be written
	ended    []string   // calls that were shown with a result that the log does not have
}

// draft is what a batch is laid out in, used again by the next one of any session.
type draft struct {
	expect map[string]uint64
	put    map[string][]byte
}

var drafts = sync.Pool{New: func() any {
	return &draft{make(map[string]uint64), make(map[string][]byte)}
}}

func (d *draft) reuse() {
	clear(d.expect)
	clear(d.put)
	drafts.Put(d)
}

// decision is the row seq of the ledger, on a call that a turn makes itself.
type decision struct {
	seq  uint64
	call string // the model's id of it; empty where the model did not ask for it
}

// outcome is how a call ended.
type outcome struct {
	decision
	failure error
}

// logEntry is an entry as it is stored.
type logEntry struct {
	key string
	raw []byte
}

func newLog(b *Book, of tools.Life, id, key string, head Head) *sessionLog {
	head.ID = id
	return &sessionLog{
		book: b, of: of, id: id, marked: head.Waiting > 0, headKey: key, below: []byte(entryPrefix(of, id)), head: head,
		sizes: make([]int, 0, 16), waiting: make([]logEntry, 0, 4),
	}
}

func (l *sessionLog) key(seq uint64) string {
	var room [256]byte
	return string(binary.BigEndian.AppendUint64(append(room[:0], l.below...), seq))
}

var (
	_ runtime.Log     = (*sessionLog)(nil)
	_ runtime.Flusher = (*sessionLog)(nil)
)

// enter lets the run have the log for its turn. It does not wait: the turn itself
// waits for the one before.
func (l *sessionLog) enter(ctx context.Context, r *Run) (release func(), err error) {
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.run != r {
			return
		}
		err := l.failed
		if l.waits() {
			err = l.flush(context.WithoutCancel(ctx))
		}
		if err != nil {
			l.book.opts.Logger.ErrorContext(ctx, "the end of a turn is not stored", "run", r.ID(), "error", err)
		}
		l.run = nil
	}, ctx.Err()
}

func (l *sessionLog) bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// last is the number of the last event.
func (l *sessionLog) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head.Seq
}

func (l *sessionLog) isBroken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed != nil
}

// maxWaiting bounds the bytes that wait for the next batch.
const maxWaiting = 256 << 10

// maxEvent bounds an event as it is stored, in bytes: it fits a batch with its key.
// What people, models and tools say is bounded where it comes from.
const maxEvent = store.MaxApplyBytes - store.MaxKeyBytes

// Append takes events into the log. Those that lead to nothing by themselves
// wait for the batch that they belong to. Listeners see an event when the log has it.
func (l *sessionLog) Append(ctx context.Context, _ string, entries ...runtime.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := From(ctx)
	if r != nil && (r.session == nil || r.session.log != l) {
		r = nil
	}
	waits := true
	for i := range entries {
		e := &entries[i]
		if said, ok := e.Event.(runtime.OutcomeNote); ok {
			l.note = outcomeNote(l.id, &said)
		}
		if !runtime.IsLeft(e.Event) && r != nil {
			e.Run, e.Agent, e.Parent = r.rec.ID, r.rec.Agent, r.rec.Parent
		}
		if l.failed != nil {
			continue
		}
		raw, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		if len(raw) > maxEvent {
			return fault.New(fault.TooLarge, fmt.Sprintf("%T takes %d bytes in the session's log, at most %d", e.Event, len(raw), maxEvent))
		}
		l.waiting = append(l.waiting, logEntry{l.key(e.Seq), raw})
		l.size += len(raw)
		l.unsaved = l.has(e, len(raw)) || l.unsaved
		if r != nil && e.Run != "" {
			l.run = r
			r.notes(e.Seq, e.Event)
			if end, ok := e.Event.(runtime.TurnEnd); ok && len(end.Pending) > 0 {
				l.note = asksNote(r, l.id, end.Pending)
			}
		}
		waits = waits && waitsForBatch(e.Event)
	}
	err := l.failed
	if err == nil && (!waits || l.size >= maxWaiting) {
		err = l.flush(ctx)
	}
	if err != nil {
		entries = l.unkept(entries)
	}
	if r != nil {
		r.tell(entries)
	}
	return err
}

// unkept returns what is shown of entries that the log does not keep: of a call one
// result, which is unknown where its outcome is not recorded, and of a turn no answer.
// The caller holds mu.
func (l *sessionLog) unkept(entries []runtime.Entry) []runtime.Entry {
	shown := entries[:0]
	for _, e := range entries {
		e.Seq = 0
		switch ev := e.Event.(type) {
		case runtime.ToolEnd:
			if slices.Contains(l.ended, ev.CallID) {
				continue
			}
			l.ended = append(l.ended, ev.CallID)
			if slices.Contains(l.lost, ev.CallID) {
				e.Event = ev.WithoutRecord(l.failed)
			}
		case runtime.TurnEnd:
			if ev.Error == "" {
				continue
			}
		}
		shown = append(shown, e)
	}
	return shown
}

// has takes an entry of so many bytes into the head, and lets go of those that a
// summary stands for. It reports whether the head is to be stored.
func (l *sessionLog) has(e *runtime.Entry, bytes int) (store bool) {
	from := l.head.From
	if e.Seq > l.head.Seq {
		store = l.head.add(e)
	}
	l.sizes, l.total = append(l.sizes, bytes), l.total+bytes
	for ; from > 0 && from < l.head.From && len(l.sizes) > 0; from++ {
		l.total -= l.sizes[0]
		l.sizes = l.sizes[1:]
	}
	return store
}

// waitsForBatch reports whether an event may wait: the decision on the call, the
// next request, or the end of the turn takes it along.
func waitsForBatch(ev runtime.Event) bool {
	switch ev.(type) {
	case runtime.ModelAnswer, runtime.ToolStart, runtime.ContextGap, runtime.TurnResume:
		return true
	}
	return false
}
