package workspace

import (
	"context"
	"log/slog"
)

// wakeSweeper tells the sweeper that there may be something to remove.
func (t *Tree) wakeSweeper() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// sweepUntil removes marked branches whenever it is woken, until ctx ends.
func (t *Tree) sweepUntil(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		if err := t.sweepAll(ctx); err != nil && ctx.Err() == nil {
			// It stays marked: the next write that leaves garbage wakes the sweeper again.
			t.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "workspace sweep failed", slog.Any("error", err))
		}
	}
}

// sweepAll goes through the markers until none is left. Sweeping a branch marks those below it, on
// either side of where the pass is.
func (t *Tree) sweepAll(ctx context.Context) error {
	for again := true; again; {
		again = false
		for from := markerPrefix; from != ""; {
			var markers []string
			var err error
			if markers, from, err = t.store.PageKeys(ctx, markerPrefix, from, 256); err != nil {
				return err
			}
			for _, m := range markers {
				if len(m) != prefixLen {
					return errBadNode
				}
				again = true
				if err := t.sweep(ctx, branchID([]byte(m[1:]))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sweep removes one branch. The branches below it are marked in the same batches that remove their
// links, so nothing is lost when it stops in between. Ids are used once, so it does not matter who
// else sweeps, or that somebody reads what is going: a reader has a snapshot.
func (t *Tree) sweep(ctx context.Context, id branchID) error {
	for done := false; !done; {
		put, del, err := t.sweepBatch(ctx, id)
		if err != nil {
			return err
		}
		if done = len(del) == 0; done {
			del = []string{countKey(id), markerKey(id)}
		}
		if _, err := t.store.Apply(ctx, nil, put, del); err != nil {
			return err
		}
	}
	return nil
}

// sweepBatch collects entries of a branch to remove and the markers for what they link.
func (t *Tree) sweepBatch(ctx context.Context, id branchID) (put map[string][]byte, del []string, err error) {
	snap, err := t.store.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer snap.Close()
	rows, _, err := snap.Page(ctx, entryPrefix(id), "", 1000)
	put = make(map[string][]byte)
	size := 0
	for _, r := range rows {
		n, err := decodeNode(r.Value)
		if err != nil {
			return nil, nil, err
		}
		if n.isStored() {
			put[markerKey(n.id())] = nil
		}
		del = append(del, r.Key)
		if size += len(r.Key) + prefixLen; size > batchBytes/2 {
			break
		}
	}
	return put, del, err
}
