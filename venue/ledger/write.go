package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"usher/tools"
	"usher/tools/fault"
	"usher/venue/store"
	"usher/venue/store/group"
)

// Batch is what else is written in one step with a row, under keys of the whole
// store.
type Batch struct {
	Expect map[string]uint64 // revisions that must hold, otherwise neither is written
	Put    map[string][]byte
	Del    []string
}

// staleError says that a key of a [Batch] did not stand at the revision that
// was expected: neither the row nor the batch was written.
type staleError struct{ Key string }

// StaleKey returns the key of a [Batch] that did not stand at the revision that was
// expected, where that is why nothing was written.
func StaleKey(err error) (key string, ok bool) {
	moved, ok := errors.AsType[*staleError](err)
	if ok {
		key = moved.Key
	}
	return key, ok
}

func (e *staleError) Error() string {
	return fmt.Sprintf("write audit row: %q has changed in the meantime", e.Key)
}

// RecordDecision writes a decision, and a batch in the same step, or neither where the
// batch's conditions do not hold. What does not run survives a loss of power when
// it returns; a permission survives the death of the process, and more with its
// outcome.
func (l *Ledger) RecordDecision(ctx context.Context, e tools.Entry, with Batch) (seq uint64, err error) {
	p := l.begin(with)
	defer l.reuse(p)
	e.Digest = l.digests.of(&e)
	p.body = appendDecision(p.body, &e)
	return l.add(p)
}

// RecordOutcome writes the outcome of the decision seq, and a batch in the same step.
// They survive a loss of power when it returns.
func (l *Ledger) RecordOutcome(ctx context.Context, seq uint64, failure error, with Batch) error {
	p := l.begin(with)
	defer l.reuse(p)
	outcome, text := outcomeOK, ""
	if failure != nil {
		outcome, text = outcomeFailed, tools.Cut(failure.Error())
		switch fault.Of(failure) {
		case fault.Denied:
			outcome = OutcomeDenied
		case fault.Unknown:
			outcome = OutcomeUnknown
		case fault.Waiting:
			outcome = outcomeWaiting
		}
	}
	p.body = appendOutcome(p.body, seq, outcome, text)
	_, err := l.add(p)
	return err
}

// Note writes what the venue notes of itself, and a batch in the same step. detail
// is an object when it is encoded.
func (l *Ledger) Note(ctx context.Context, note string, detail any, with Batch) (seq uint64, err error) {
	raw, err := json.Marshal(detail)
	if err != nil {
		return 0, fmt.Errorf("write audit row: %w", err)
	}
	p := l.begin(with)
	defer l.reuse(p)
	p.body = appendNote(p.body, note, raw)
	return l.add(p)
}

// draft is a row that waits to be written.
type draft struct {
	group.Turn
	body []byte // an object of what follows its number and its time
	with Batch
	seq  uint64 // valid when done
}

func (l *Ledger) begin(with Batch) *draft {
	p, ok := l.spare.Get().(*draft)
	if !ok {
		p = new(draft)
	}
	p.body, p.with, p.seq = p.body[:0], with, 0
	return p
}

func (l *Ledger) reuse(p *draft) {
	p.with = Batch{}
	if cap(p.body) <= 16<<10 {
		l.spare.Put(p)
	}
}

// add has the row written with those that come at the same time.
func (l *Ledger) add(p *draft) (uint64, error) {
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return 0, errClosed
	}
	err := l.queue.Join(p)
	return p.seq, err
}

// The bounds of a group, well within those of one batch of the store.
const (
	maxGroupRows  = 256
	maxGroupBytes = 256 << 10
)

// take says which rows are written next: no more than until a checkpoint is due, and
// none whose batch meets another's.
func (l *Ledger) take(waiting []*draft) (n int) {
	w := &l.writer
	clear(w.claims)
	l.mu.Lock()
	limit := min(maxGroupRows, checkpointRows-int(l.written.size-l.marked))
	l.mu.Unlock()
	size := 0
	for _, p := range waiting {
		size += len(p.body) + p.with.size()
		if n > 0 && (n >= limit || size > maxGroupBytes || !w.claim(&p.with)) {
			break
		}
		if n == 0 {
			w.claim(&p.with)
		}
		n++
	}
	return n
}

func (b *Batch) size() (n int) {
	for key, value := range b.Put {
		n += len(key) + len(value)
	}
	return n
}

func (b *Batch) expects(key string) bool {
	_, found := b.Expect[key]
	return found
}

// claim notes the keys of a batch for it, unless another batch of the group
// writes one of them or expects it at another revision.
func (w *writer) claim(b *Batch) bool {
	for key, rev := range b.Expect {
		if by, taken := w.claims[key]; taken && (by.written || by.rev != rev) {
			return false
		}
	}
	for key := range b.Put {
		if _, taken := w.claims[key]; taken {
			return false
		}
	}
	for _, key := range b.Del {
		if _, taken := w.claims[key]; taken {
			return false
		}
	}
	if w.claims == nil {
		w.claims = make(map[string]claim)
	}
	for key, rev := range b.Expect {
		w.claims[key] = claim{rev: rev}
	}
	for key := range b.Put {
		w.claims[key] = claim{written: true}
	}
	for _, key := range b.Del {
		w.claims[key] = claim{written: true}
	}
	return true
}

// claim is what the batches of a group do with a key.
type claim struct {
	rev     uint64
	written bool
}

// writer is what writing needs, used again and again by whoever leads.
type writer struct {
	tree  tree // of what is written
	next  tree // with the group
	stale bool // whether the last group was written is not known

	claims map[string]claim
	expect map[string]uint64
	put    map[string][]byte
}

// writeAll writes a group, also when the callers have gone, and says that it needs a
// checkpoint.
func (l *Ledger) writeAll(group []*draft) {
	l.write(context.Background(), group)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark()
}

// write writes a group. Each of it has its number then, or an error.
func (l *Ledger) write(ctx context.Context, group []*draft) {
	for len(group) > 0 {
		err := l.tryWrite(ctx, group)
		moved, isMoved := errors.AsType[*staleError](err)
		if err != nil && !isMoved && len(group) > 1 && !errors.Is(err, store.ErrUnknown) { // one alone may be at fault
			for i := range group {
				l.write(ctx, group[i:i+1])
			}
			return
		}
		var rest []*draft // goes without those whose batch expected the key
		for _, p := range group {
			if isMoved && !p.with.expects(moved.Key) {
				rest = append(rest, p)
			} else {
				p.Err = err
			}
		}
		group = rest
	}
}

func (l *Ledger) tryWrite(ctx context.Context, group []*draft) error {
	w := &l.writer
	for {
		if w.stale {
			t, err := l.reload(ctx)
			if err != nil {
				return fmt.Errorf("write audit row: %w", err)
			}
			w.tree = *t
		}
		w.stale = true // should the store panic
		first := rowKey(w.tree.size + 1)
		del := w.lay(group, first, l.now().UTC())
		moved, err := l.store.Apply(ctx, w.expect, w.put, del)
		if err != nil && !l.hasLanded(ctx, first) {
			return fmt.Errorf("write audit row: %w", err)
		}
		switch moved {
		case "":
			w.tree, w.next, w.stale = w.next, w.tree, false
			l.mu.Lock()
			l.written.set(&w.tree)
			l.mu.Unlock()
			return nil
		case first: // another process writes this ledger: go on behind its rows
		default:
			w.stale = false
			return &staleError{moved}
		}
	}
}

// hasLanded finds out whether a group was written of which the store cannot tell.
func (l *Ledger) hasLanded(ctx context.Context, first string) bool {
	raw, _, err := l.store.Get(ctx, first)
	return err == nil && raw != nil && string(raw) == string(l.writer.put[first])
}

// lay lays the batch of a group out, with the rows numbered from that of the
// key first on.
func (w *writer) lay(group []*draft, first string, now time.Time) (del []string) {
	if w.put == nil {
		w.put, w.expect = make(map[string][]byte), make(map[string]uint64)
	}
	clear(w.put)
	clear(w.expect)
	w.next.set(&w.tree)
	w.expect[first] = 0

	for _, p := range group {
		p.seq = w.next.size + 1
		above := subtreeLength(p.seq)
		record := append(make([]byte, 0, above+maxStart+len(p.body)), zeros[:above]...)
		record = appendRow(record, p.seq, now, p.body)
		w.next.add(tlog.RecordHash(record[above:]), record[:0])
		key := first
		if p != group[0] {
			key = rowKey(p.seq)
		}
		w.put[key] = record
		maps.Copy(w.expect, p.with.Expect)
		maps.Copy(w.put, p.with.Put)
		del = append(del, p.with.Del...)
	}
	w.put[headKey] = w.next.append(make([]byte, 0, 8+len(w.next.peaks)*tlog.HashSize))
	return del
}

var zeros [64 * tlog.HashSize]byte
