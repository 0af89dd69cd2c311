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
			t.log.LogAttrs(ctx, slog.LevelWarn, "workspace sweep failed", slog.Any("error", err))
		}
	}
}

// sweepAll goes through the markers until none is left but those of builds. Sweeping a branch
// marks those below it, on either side of where the pass is.
func (t *Tree) sweepAll(ctx context.Context) error {
	for again := true; again; {
		again = false
		for start := markerPrefix; ; {
			ids, err := t.marked(ctx, start)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				break
			}
			again = true
			for _, id := range ids {
				if err := t.sweep(ctx, id); err != nil {
					return err
				}
			}
			// Going on behind the last one spares the store a walk over what it just removed.
			start = markerKey(ids[len(ids)-1]) + "\x00"
		}
	}
	return nil
}

// marked returns some branches that are garbage, from a marker upwards.
func (t *Tree) marked(ctx context.Context, start string) (ids []branchID, err error) {
	err = t.scan(ctx, markerPrefix, start, func(key string, _ []byte) (bool, error) {
		if len(key) != prefixLen {
			return false, errBadNode
		}
		id := branchID([]byte(key[1:]))
		t.mu.Lock()
		_, building := t.building[id]
		t.mu.Unlock()
		if !building {
			ids = append(ids, id)
		}
		return len(ids) < 256, nil
	})
	return ids, err
}

// sweep removes one branch. The branches below it are marked in the same steps that remove their
// links, so nothing is lost when it stops in between.
func (t *Tree) sweep(ctx context.Context, id branchID) error {
	// Claiming the marker makes a builder fail that runs elsewhere; where the marker is gone or
	// changed, the branch has been linked or swept.
	marker := markerKey(id)
	_, rev, err := t.store.Get(ctx, marker)
	if err != nil || rev == 0 {
		return err
	}
	moved, err := t.store.Apply(ctx, map[string]uint64{marker: rev}, map[string][]byte{marker: []byte(markSwept)}, nil)
	if err != nil || moved != "" {
		return err
	}
	for {
		put, del, err := t.sweepBatch(ctx, id)
		if err != nil {
			return err
		}
		done := len(del) == 0
		if done {
			del = []string{countKey(id), marker}
		}
		if _, err := t.store.Apply(ctx, nil, put, del); err != nil || done {
			return err
		}
	}
}

// sweepBatch collects entries of a branch to remove and the markers for what they link.
func (t *Tree) sweepBatch(ctx context.Context, id branchID) (put map[string][]byte, del []string, err error) {
	put = map[string][]byte{}
	size := 0
	err = t.scan(ctx, entryPrefix(id), "", func(key string, value []byte) (bool, error) {
		n, err := decodeNode(value)
		if err != nil {
			return false, err
		}
		if n.stored() {
			put[markerKey(n.id)] = []byte(markGarbage)
		}
		del = append(del, key)
		size += len(key) + prefixLen
		return len(del) < batchKeys/2 && size < batchBytes, nil
	})
	return put, del, err
}
