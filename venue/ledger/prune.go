package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"usher/tools"
	"usher/venue/store"
)

// Keep says which rows stay.
type Keep struct {
	Rows   uint64    // so many of the last ones; 0 keeps all
	Before time.Time // rows of that time and later stay; zero keeps all
}

// The bounds of what is pruned at once.
const (
	maxPruned   = 16 << 10 // rows of one note
	maxUnsigned = 1 << 10  // checkpoints of one note
	prunedBatch = 256      // keys of one batch
)

// Prune removes the rows that need not stay, from the first on, and returns what it
// removed. Their texts go, and what proves the rest stays: the checkpoints, and the
// hashes that they and later rows need. It ends at a row that a checkpoint was
// signed over, before a call that runs. A call that an earlier process did not bring
// to its end gets its outcome first, which is unknown.
//
// A note says which rows go, and is signed before they do. Between two batches Prune
// calls rest, and ends with its error. One call prunes so much at most that more may
// be left.
func (l *Ledger) Prune(ctx context.Context, keep Keep, rest func(context.Context) error) (rows uint64, err error) {
	l.pruning.Lock()
	defer l.pruning.Unlock()
	p, err := l.PruneNote(ctx)
	if err == nil {
		err = l.clear(ctx, p, rest) // what a crash left
	}
	if err != nil {
		return 0, fmt.Errorf("prune audit ledger: %w", err)
	}
	next, hashes, err := l.prunable(ctx, p, keep)
	if err == nil && next.To > p.To+1 { // the note is a row, too
		if err = l.prune(ctx, &next, hashes, rest); err == nil {
			err = l.clear(ctx, next, rest)
		}
		rows = next.To - p.To
	}
	if err != nil {
		return 0, fmt.Errorf("prune audit ledger: %w", err)
	}
	return rows, nil
}

// prunable finds up to where rows may go, and the hashes to keep of them.
func (l *Ledger) prunable(ctx context.Context, p PruneNote, keep Keep) (next PruneNote, hashes map[int64]tlog.Hash, err error) {
	next = PruneNote{From: p.To + 1, To: p.To}
	signed, err := l.old(ctx, p.To, keep)
	if err != nil || len(signed) == 0 {
		return next, nil, err
	}
	until, err := l.quietUntil(ctx, p.To, signed[len(signed)-1])
	if err != nil {
		return next, nil, err
	}
	for len(signed) > 0 && signed[len(signed)-1].Size > until {
		signed = signed[:len(signed)-1]
	}
	hashes = make(map[int64]tlog.Hash)
	noted := noteReads(l.hashes(ctx), hashes)
	var last Checkpoint
	if p.To > 0 {
		if last, err = l.checkpointOf(ctx, p.To); err != nil {
			return next, nil, err
		}
	}
	for _, c := range signed {
		if err := continues(last, c, noted); err != nil {
			return next, nil, err
		}
		next.To, next.Root = c.Size, c.Root
		last = c
	}
	return next, hashes, nil
}

// old reads the checkpoints behind row after that are over rows which need not
// stay.
func (l *Ledger) old(ctx context.Context, after uint64, keep Keep) (signed []Checkpoint, err error) {
	size := l.end().size
	page, _, err := l.store.Page(ctx, signPrefix, signKey(after+1), maxUnsigned)
	for _, row := range page {
		c, err := l.openAt(row)
		if err != nil {
			return nil, err
		}
		isOld := keep.Rows > 0 && c.Size+keep.Rows <= size
		if !isOld && !keep.Before.IsZero() {
			_, raw, err := l.record(ctx, c.Size)
			if err != nil {
				return nil, err
			}
			row, err := decodeRow(c.Size, raw)
			if err != nil {
				return nil, err
			}
			isOld = row.Time.Before(keep.Before)
		}
		if !isOld || c.Size > after+maxPruned && len(signed) > 0 {
			break
		}
		signed = append(signed, c)
	}
	return signed, err
}

func (l *Ledger) checkpointOf(ctx context.Context, size uint64) (c Checkpoint, err error) {
	raw, _, err := l.store.Get(ctx, signKey(size))
	if err != nil {
		return c, err
	}
	return l.openAt(store.Row{Key: signKey(size), Value: raw})
}

// quietUntil checks the rows behind after up to a checkpoint, and returns the last
// before the first call among them that still runs. Those that will never end are
// ended first.
func (l *Ledger) quietUntil(ctx context.Context, after uint64, c Checkpoint) (until uint64, err error) {
	frozen, thaw, err := l.freeze(ctx)
	if err != nil {
		return 0, err
	}
	defer thaw()
	t, err := grown(after, frozen.hashes(ctx))
	if err != nil {
		return 0, err
	}
	open := make(map[uint64]bool)
	for raw, err := range frozen.follow(ctx, &t, c.head()) {
		if err != nil {
			return 0, err
		}
		row, err := decodeRow(t.size, raw)
		if err != nil {
			return 0, err
		}
		row.opens(open)
	}
	for row, err := range frozen.Rows(ctx, c.Size+1) {
		if err != nil {
			return 0, err
		}
		if len(open) == 0 {
			break
		}
		delete(open, row.Of)
	}
	until = c.Size
	for seq := range open {
		if seq <= l.began {
			if err := l.abandon(seq); err != nil {
				return 0, err
			}
			continue
		}
		until = min(until, seq-1)
	}
	return until, nil
}

// opens notes the calls that have no outcome yet.
func (r *Row) opens(calls map[uint64]bool) {
	switch {
	case r.Of != 0:
		delete(calls, r.Of)
	case r.Entry != nil && r.Verdict == tools.Allowed:
		calls[r.Seq] = true
	}
}

// abandon writes the outcome of a call whose process is gone.
func (l *Ledger) abandon(seq uint64) error {
	p := l.begin(Batch{})
	defer l.reuse(p)
	p.body = appendOutcome(p.body, seq, OutcomeUnknown, "the venue ended while it ran")
	_, err := l.add(p)
	return err
}

// prune says that rows go, has that signed, and keeps their hashes. From then on
// the rows do not count.
func (l *Ledger) prune(ctx context.Context, p *PruneNote, hashes map[int64]tlog.Hash, rest func(context.Context) error) (err error) {
	if p.Note, err = l.Note(ctx, notePruned, p, Batch{}); err != nil {
		return err
	}
	if _, err := l.Checkpoint(ctx); err != nil {
		return err
	}
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(hashes)), prunedBatch) {
		put := make(map[string][]byte, len(batch))
		for _, index := range batch {
			h := hashes[index]
			put[hashKey(index)] = h[:]
		}
		if _, err := l.store.Apply(ctx, nil, put, nil); err != nil {
			return err
		}
		if err := rest(ctx); err != nil {
			return err
		}
	}
	_, err = l.store.Apply(ctx, nil, map[string][]byte{prunedKey: p.record()}, nil)
	return err
}

// clear removes the records of rows that were pruned.
func (l *Ledger) clear(ctx context.Context, p PruneNote, rest func(context.Context) error) error {
	for {
		page, _, err := l.store.Page(ctx, rowPrefix, "", 1)
		if err != nil || len(page) == 0 {
			return err
		}
		first, err := seqOf(page[0].Key)
		if err != nil || first > p.To {
			return err
		}
		var del []string
		for seq := first; seq <= p.To && len(del) < prunedBatch; seq++ {
			del = append(del, rowKey(seq))
		}
		if _, err := l.store.Apply(ctx, nil, nil, del); err != nil {
			return err
		}
		if err := rest(ctx); err != nil {
			return err
		}
	}
}
