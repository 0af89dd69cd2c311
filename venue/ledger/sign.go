package ledger

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// How often checkpoints come, when there are new rows.
const (
	checkpointRows  = 1000
	checkpointEvery = time.Minute
)

// Checkpoint signs the tree as it is now, and returns the newest checkpoint.
func (l *Ledger) Checkpoint(ctx context.Context) (Checkpoint, error) {
	return l.sign(ctx, l.end())
}

// Signed is the newest checkpoint that is signed; the zero value where none is.
func (l *Ledger) Signed() Checkpoint {
	l.signing.Lock()
	defer l.signing.Unlock()
	return l.last
}

// end is the tree as it is now.
func (l *Ledger) end() head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.head()
}

// sign signs a tree, unless a later one is signed already, and hands the
// checkpoint to the couriers.
func (l *Ledger) sign(ctx context.Context, h head) (Checkpoint, error) {
	l.signing.Lock()
	defer l.signing.Unlock()
	if l.last.Note != "" && h.size <= l.last.Size {
		return l.last, nil
	}
	text, err := note.Sign(&note.Note{Text: h.text(l.venue.String())}, l.signer)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("make checkpoint: %w", err)
	}
	if l.readOnly {
		return Checkpoint{h.size, h.root, string(text)}, nil
	}
	if _, err := l.store.Apply(ctx, nil, map[string][]byte{signKey(h.size): text}, nil); err != nil {
		return Checkpoint{}, fmt.Errorf("keep checkpoint: %w", err)
	}
	l.last = Checkpoint{h.size, h.root, string(text)}
	l.mu.Lock()
	l.marked = max(l.marked, h.size)
	l.wait(l.written.size > l.marked)
	l.mu.Unlock()
	for _, c := range l.couriers {
		c.send(l.last)
	}
	return l.last, nil
}

// wait says whether there are rows that wait for a checkpoint, which comes when
// the first of them has waited for its time. The caller holds l.mu.
func (l *Ledger) wait(waiting bool) {
	switch {
	case !waiting:
		l.timer.Stop()
	case !l.waiting:
		l.timer.Reset(checkpointEvery)
	}
	l.waiting = waiting
}

// mark says that new rows need a checkpoint: at once, or within its time. The
// caller holds l.mu.
func (l *Ledger) mark() {
	switch rows := l.written.size - l.marked; {
	case rows >= checkpointRows:
		l.due = append(l.due, l.written.head())
		l.marked = l.written.size
		l.wait(false)
		select {
		case l.wake <- struct{}{}:
		default: // it is told already
		}
	case rows > 0:
		l.wait(true)
	}
}

// watch makes the checkpoints that are due, until Close. What fails is tried
// again with the next.
func (l *Ledger) watch() {
	defer close(l.stopped)
	defer l.timer.Stop()
	for {
		var due []head
		select {
		case <-l.stop:
			return
		case <-l.wake:
			l.mu.Lock()
			due, l.due = l.due, nil
			l.mu.Unlock()
		case <-l.timer.C:
			due = []head{l.end()}
		}
		for _, h := range due {
			if _, err := l.sign(context.Background(), h); err != nil {
				l.log.Error("checkpoint of the audit ledger failed", "rows", h.size, "error", err)
				l.mu.Lock()
				l.waiting = true
				l.timer.Reset(checkpointEvery)
				l.mu.Unlock()
			}
		}
	}
}
