package runs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue/ledger"
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
	unsaved  bool                 // the head is to be written with the next batch
	marked   bool                 // that messages wait is stored
	waiting  []logged             // entries that the next batch takes along
	size     int                  // of them, in bytes
	sizes    []int                // of the entries from head.From on, which the next request needs, in bytes
	total    int                  // of those
	said     *runtime.OutcomeSaid // that waits for the ledger; nil for nothing
	direct   []decision           // on direct calls that have no outcome yet
	outcomes []outcome            // of direct calls: written with their results
	failed   error                // why a batch could not be written: the log takes nothing more
	lost     []string             // calls whose outcomes could not be written
	ended    []string             // calls that were shown with a result that the log does not have
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

// logged is an entry as it is stored.
type logged struct {
	key string
	raw []byte
}

func newLog(b *Book, of tools.Life, id, key string, head Head) *sessionLog {
	head.ID = id
	return &sessionLog{
		book: b, of: of, id: id, marked: head.Waiting > 0, headKey: key, below: []byte(entryPrefix(of, id)), head: head,
		sizes: make([]int, 0, 16), waiting: make([]logged, 0, 4),
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

func (l *sessionLog) broken() bool {
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
		if said, ok := e.Event.(runtime.OutcomeSaid); ok {
			l.said = &said
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
		l.waiting = append(l.waiting, logged{l.key(e.Seq), raw})
		l.size += len(raw)
		l.unsaved = l.has(e, len(raw)) || l.unsaved
		if r != nil && e.Run != "" {
			l.run = r
			r.notes(e.Seq, e.Event)
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
		case runtime.ToolFinished:
			if slices.Contains(l.ended, ev.CallID) {
				continue
			}
			l.ended = append(l.ended, ev.CallID)
			if slices.Contains(l.lost, ev.CallID) {
				e.Event = ev.Unrecorded(l.failed)
			}
		case runtime.TurnFinished:
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
	case runtime.Answered, runtime.ToolStarted, runtime.ContextMissing, runtime.TurnResumed:
		return true
	}
	return false
}

// add brings the head up to an event. It reports whether the head is to be
// stored then: one that is behind by the middle of a turn is brought up to date
// by whoever opens the session.
func (h *Head) add(e *runtime.Entry) bool {
	h.Seq, h.Last = e.Seq, e.Time
	if h.Began.IsZero() {
		h.Began, h.From = e.Time, e.Seq
	}
	said := ""
	switch ev := e.Event.(type) {
	case runtime.TurnStarted:
		said = ev.Text
		h.Turns++
		h.Waiting, h.Interrupted, h.Run = 0, 0, e.Run
	case runtime.Received:
		said = ev.Text
		h.Waiting++
	case runtime.OutcomeSaid:
		h.Waiting++
	case runtime.Compacted:
		h.From = ev.Through + 1
	case runtime.TurnFinished:
		h.Run = ""
		if ev.Code == string(fault.Interrupted) {
			h.Interrupted = e.Seq
		}
	}
	if h.First == "" {
		h.First = beginning(said)
	}
	switch e.Event.(type) {
	case runtime.TurnStarted, runtime.Received, runtime.OutcomeSaid, runtime.Compacted, runtime.TurnFinished:
		return true
	}
	return false
}

// notes takes an event of the run's turn into the record.
func (r *Run) notes(seq uint64, ev runtime.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch ev := ev.(type) {
	case runtime.TurnStarted:
		r.rec.From = seq
	case runtime.TurnFinished:
		if r.rec.Kind == Turn {
			r.ended(&ev)
		}
	case runtime.TurnRested:
		switch waits := r.waitsOf(ev.Waits); {
		case r.rec.Kind != Turn:
		case r.rec.Paused:
			r.rec.Status, r.rec.Waits, r.rec.Paused = Paused, waits, false
		case waits != nil:
			r.rec.Status, r.rec.Waits = Waiting, waits
		}
	}
}

// tell shows the run's events among the entries.
func (r *Run) tell(entries []runtime.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range entries {
		if e := &entries[i]; e.Run != "" {
			r.publish(shown{e.Seq, e.Time, e.Event})
		}
	}
}

// ended notes the end of a turn in its record, which is stored with it. What the
// turn answered is in the log.
func (r *Run) ended(end *runtime.TurnFinished) {
	switch {
	case end.Error == "":
		r.rec.Status = Complete
	case end.Code == "stopped":
		r.rec.Status, r.rec.Error = Cancelled, end.Error
	default:
		r.rec.Status, r.rec.Error = Failed, tools.Cut(end.Error)
	}
	spent := r.auth.Meter().Spent()
	r.rec.Spent = &spent
}

// batch lays out what waits. The caller holds mu.
func (l *sessionLog) batch(ctx context.Context, d *draft) (b ledger.Batch, written func(bool), err error) {
	b = ledger.Batch{Expect: d.expect, Put: d.put}
	written = func(bool) {}
	if len(l.waiting) > 0 {
		b.Expect[l.waiting[0].key] = 0 // nobody else writes the log
	}
	for _, w := range l.waiting {
		b.Put[w.key] = w.raw
	}
	if l.unsaved {
		if b.Put[l.headKey], err = l.head.MarshalJSON(); err != nil {
			return b, written, err
		}
		if waiting := l.head.Waiting; waiting > 0 {
			b.Put[waitKey(l.of, l.id)] = strconv.AppendInt(nil, int64(waiting), 10)
			l.marked = true
		} else if l.marked {
			b.Del = append(b.Del, waitKey(l.of, l.id))
			l.marked = false
		}
	}
	if r := l.run; r != nil {
		if err := r.owned(ctx, b.Expect); err != nil {
			return b, written, err
		}
		if r.rec.Kind == Turn && r.unsaved() {
			del, err := r.draft(*d)
			if err != nil {
				return b, written, err
			}
			b.Del = append(b.Del, del...)
		}
	}
	if done := l.book.opts.Spending.Draft(ctx, b.Put); done != nil {
		written = done
	}
	return b, written, nil
}

// unsaved reports whether the record of a turn is to be written: at its beginning
// and at its end.
func (r *Run) unsaved() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rec.Status == r.saved {
		return false
	}
	r.saved = r.rec.Status
	return true
}

// forgets has the record written again: the last write of it failed.
func (r *Run) forgets() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved = ""
}

// settle says how a batch went. The caller holds mu.
func (l *sessionLog) settle(err error, written func(bool)) error {
	written(err == nil)
	if err != nil {
		l.failed = err
		if l.run != nil {
			l.run.forgets()
		}
		_ = l.conclude(context.Background(), ledger.Batch{}) // those that waited for the batch
		return err
	}
	clear(l.waiting)
	l.waiting, l.size, l.unsaved = l.waiting[:0], 0, false
	return nil
}

// flush writes what waits, with the outcomes of the calls whose results are
// among it: also when the run is stopped meanwhile, since of half a write nobody could
// tell what the log has. The caller holds mu.
func (l *sessionLog) flush(ctx context.Context) error {
	if l.failed != nil {
		return l.failed
	}
	whole := context.Background()
	if err := l.ahead(whole); err != nil {
		return err
	}
	d := drafts.Get().(*draft) //nolint:forcetypeassert // the pool has nothing else
	defer d.reuse()
	b, written, err := l.batch(ctx, d)
	if err != nil {
		return err
	}
	if len(b.Put) == 0 && len(b.Del) == 0 && len(l.outcomes) == 0 {
		return nil
	}
	if said := l.said; said != nil {
		l.said = nil
		err := l.conclude(whole, ledger.Batch{})
		if err == nil {
			err = l.book.noteSaid(whole, l.id, said, b)
		}
		return l.settle(err, written)
	}
	if len(l.outcomes) == 0 {
		moved, err := l.book.opts.Store.Apply(whole, b.Expect, b.Put, b.Del)
		return l.settle(told(moved, err), written)
	}
	return l.settle(l.conclude(whole, b), written)
}

// conclude writes the outcomes, and the batch with the last of them: of no call the log
// says how it ended before the ledger does. The caller holds mu.
func (l *sessionLog) conclude(ctx context.Context, b ledger.Batch) (err error) {
	for i, o := range l.outcomes {
		var failed error
		if last := err == nil && i == len(l.outcomes)-1; last {
			failed = l.book.opts.Ledger.Finished(ctx, o.seq, o.failure, b)
			err = failed
			if failed != nil && len(b.Put) > 0 && !errors.Is(failed, store.ErrUnknown) { // the ledger may take what the log does not
				failed = l.book.concluded(ctx, l.run, o.seq, o.failure)
			}
		} else {
			failed = l.book.concluded(ctx, l.run, o.seq, o.failure)
			err = cmp.Or(err, failed)
		}
		if failed != nil {
			l.lost = append(l.lost, o.call)
		}
	}
	clear(l.outcomes)
	l.outcomes = l.outcomes[:0]
	return err
}

// maxBatch bounds the bytes of the entries that are written with the record of the
// run, the row of the ledger and what was spent.
const maxBatch = 512 << 10

// ahead writes entries by themselves as long as those that wait are too many for one
// batch with what belongs to the last of them. The caller holds mu.
func (l *sessionLog) ahead(ctx context.Context) error {
	for l.size > maxBatch {
		n, size := 0, 0
		put := make(map[string][]byte)
		for n < len(l.waiting) && (n == 0 || size+len(l.waiting[n].raw) <= maxBatch) {
			put[l.waiting[n].key], size = l.waiting[n].raw, size+len(l.waiting[n].raw)
			n++
		}
		moved, err := l.book.opts.Store.Apply(ctx, map[string]uint64{l.waiting[0].key: 0}, put, nil)
		if err = told(moved, err); err != nil {
			return l.settle(err, func(bool) {})
		}
		l.waiting, l.size = slices.Delete(l.waiting, 0, n), l.size-size
	}
	return nil
}

func told(moved string, err error) error {
	if err == nil && moved != "" {
		return errors.New("an event is there already: another process writes this session")
	}
	return err
}

// Flush writes what waits.
func (l *sessionLog) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.waits() {
		return l.failed
	}
	return l.flush(ctx)
}

func (l *sessionLog) waits() bool { return len(l.waiting) > 0 || len(l.outcomes) > 0 }

// Decided writes a decision of the gate; of a call that a turn makes itself
// together with the events that led to it.
func (b *Book) Decided(ctx context.Context, e tools.Entry) (uint64, error) { return b.decide(ctx, &e) }

func (b *Book) decided(ctx context.Context, e *tools.Entry) (uint64, error) {
	r := From(ctx)
	if r == nil || r.session == nil || e.Inner {
		with, err := r.begins(ctx, e)
		if err == nil {
			err = r.unmoved(ctx, &with)
		}
		if err != nil {
			return 0, err
		}
		use(&with, e.Grant)
		return b.opts.Ledger.Decided(ctx, *e, with)
	}
	l := r.session.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != r {
		var with ledger.Batch
		if err := r.unmoved(ctx, &with); err != nil {
			return 0, err
		}
		use(&with, e.Grant)
		return b.opts.Ledger.Decided(ctx, *e, with)
	}
	if l.failed != nil {
		return 0, l.failed
	}
	if len(l.outcomes) > 0 {
		if err := l.flush(ctx); err != nil {
			return 0, err
		}
	}
	if err := l.ahead(context.Background()); err != nil {
		return 0, err
	}
	d := drafts.Get().(*draft) //nolint:forcetypeassert // the pool has nothing else
	defer d.reuse()
	batch, written, err := l.batch(ctx, d)
	if err != nil {
		return 0, err
	}
	use(&batch, e.Grant)
	seq, err := b.opts.Ledger.Decided(context.Background(), *e, batch) // as flush
	if moved, ok := ledger.Moved(err); ok && e.Grant != nil && e.Grant.Put[moved] != nil {
		written(false) // and all of it waits for the next batch
		l.unsaved = true
		if l.run != nil {
			l.run.forgets()
		}
		return 0, err
	}
	if err := l.settle(err, written); err != nil {
		return 0, err
	}
	if e.Verdict == tools.Allowed {
		l.direct = append(l.direct, decision{seq, e.Call})
	}
	return seq, nil
}

// use adds the answer of a person, which is used up with a decision.
func use(b *ledger.Batch, g *tools.Grant) {
	if g == nil {
		return
	}
	if b.Expect == nil {
		b.Expect = make(map[string]uint64, 1)
	}
	if b.Put == nil {
		b.Put = make(map[string][]byte, 1)
	}
	maps.Copy(b.Expect, g.Expect)
	maps.Copy(b.Put, g.Put)
}

// finished writes the outcome of a call; of one that a turn makes itself it
// waits for the result in the log, and is written with it.
func (b *Book) finished(ctx context.Context, seq uint64, failure error) error {
	r := From(ctx)
	if r == nil || r.session == nil {
		return b.concluded(ctx, r, seq, failure)
	}
	l := r.session.log
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.direct, func(d decision) bool { return d.seq == seq })
	if i < 0 {
		return b.concluded(ctx, r, seq, failure)
	}
	of := l.direct[i]
	l.direct = slices.Delete(l.direct, i, i+1)
	if l.failed != nil { // the result will not be in the log
		return b.concluded(ctx, r, seq, failure)
	}
	l.outcomes = append(l.outcomes, outcome{of, failure})
	return nil
}

// concluded writes the outcome of a call by itself. It is not written of a run that
// another process has taken over, to which it is unknown.
func (b *Book) concluded(ctx context.Context, r *Run, seq uint64, failure error) error {
	for again := false; ; again = true {
		var with ledger.Batch
		if err := r.unmoved(ctx, &with); err != nil {
			return err
		}
		err := b.opts.Ledger.Finished(ctx, seq, failure, with)
		if _, moved := ledger.Moved(err); !moved || again { // the run may have ended just now
			return err
		}
	}
}
