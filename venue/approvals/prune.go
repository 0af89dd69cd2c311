package approvals

import (
	"context"
	"fmt"
	"strings"

	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue/runs"
	"usher/venue/store"
)

// prunedBatch is how many requests are looked at between two rests.
const prunedBatch = 256

// Prune removes the requests that are over, with the runs that asked, and need not
// stay: of each person those beyond a number, the oldest first, and those that ended
// before a time. It returns how many went.
func (r *Room) Prune(ctx context.Context, keep runs.Keep, rest runs.Rest) (n int, err error) {
	const all = prefix + "req/"
	for from := ""; ; {
		page, _, err := r.Store.PageKeys(ctx, all, from, 1)
		if err != nil {
			return n, fmt.Errorf("prune requests: %w", err)
		}
		if len(page) == 0 {
			return n, nil
		}
		owner, _, _ := strings.Cut(page[0][len(all):], "/")
		of, err := r.pruneOf(ctx, owner, keep, rest)
		if n += of; err != nil {
			return n, fmt.Errorf("prune requests: %w", err)
		}
		from = all + owner + "0" // behind "/"
	}
}

// pruneOf prunes the requests of a person. Their ids sort by time.
func (r *Room) pruneOf(ctx context.Context, owner string, keep runs.Keep, rest runs.Rest) (n int, err error) {
	all, beyond := requestKey(owner, ""), 0
	if keep.Number > 0 {
		beyond = -keep.Number
		for _, err := range store.Keys(ctx, r.Store, all, "") {
			if err != nil {
				return 0, err
			}
			beyond++
		}
	}
	seen := 0
	for key, err := range store.Keys(ctx, r.Store, all, "") {
		if seen++; err == nil && seen%prunedBatch == 0 {
			err = rest(ctx)
		}
		if err != nil {
			return n, err
		}
		rec, rev, err := r.find(ctx, owner, key[len(all):])
		if fault.Of(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return n, err
		}
		old := func(ms int64) bool { return !keep.Before.IsZero() && ms < keep.Before.UnixMilli() }
		if beyond <= 0 && !old(rec.Created) {
			return n, nil // and neither is any behind it
		}
		if beyond <= 0 && !old(rec.last()) {
			continue
		}
		gone, err := r.remove(ctx, &rec, rev)
		if err != nil {
			return n, err
		}
		if gone {
			n++
			beyond--
		}
	}
	return n, nil
}

// last is when something came of the request, in ms.
func (rec *record) last() int64 {
	last := max(rec.Created, rec.Used)
	if rec.Answer != nil {
		last = max(last, rec.Answer.At)
	}
	if rec.Status == approvals.Expired {
		last = max(last, rec.Expires)
	}
	return last
}

// remove removes a request with all its rows, unless somebody may need it: a call that
// its run makes again is told the same.
func (r *Room) remove(ctx context.Context, rec *record, rev uint64) (bool, error) {
	switch rec.Status {
	case approvals.Pending, approvals.Approved:
		return false, nil
	}
	if over, err := r.isOver(ctx, rec); err != nil || !over && rec.Run != "" {
		return false, err
	}
	if _, err := r.close(ctx, rec); err != nil {
		return false, err
	}
	key := requestKey(rec.Owner, rec.ID)
	expect, del := map[string]uint64{key: rev}, []string{key, dueKey(rec.Expires, rec.ID), nearKey(rec.Kind, rec.ID), capKey(rec.Run, rec.ID)}
	for _, mark := range rec.marks() {
		id, rev, err := r.Store.Get(ctx, mark)
		if err != nil {
			return false, err
		}
		if strings.TrimPrefix(string(id), begunMark) == rec.ID {
			expect[mark], del = rev, append(del, mark)
		}
	}
	moved, err := r.Store.Apply(ctx, expect, nil, del)
	return err == nil && moved == "", err
}

// marks are the rows that may lead to the request.
func (rec *record) marks() []string {
	marks := []string{callKey(rec.Digest)}
	for _, key := range append([]string{rec.Key, rec.At}, rec.Places...) {
		if key != "" {
			marks = append(marks, atKey(key))
		}
	}
	if rec.For != "" {
		marks = append(marks, callKey(rec.For))
	}
	return marks
}
