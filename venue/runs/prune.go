package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"usher/tools/fault"
	"usher/ucan"
)

// Keep says what stays of what is over.
type Keep struct {
	Number int       // so many of the latest; 0 keeps all
	Before time.Time // what ended at that time and later; zero keeps all
}

// Rest is called between two batches of removing, which ends with its error.
type Rest func(context.Context) error

// prunedBatch is how many records one batch of removing looks at.
const prunedBatch = 256

// Prune removes the runs that are over and need not stay, with their logs: of each
// owner those beyond a number, the oldest first, and those that ended before a
// time. What executes stays, and what the run above it, which has not ended, may ask for
// again. The events of turns belong to sessions, and stay with them. It returns how many
// went.
func (b *Book) Prune(ctx context.Context, keep Keep, rest Rest) (n int, err error) {
	const all = prefix + "run/"
	for from := ""; err == nil; {
		page, _, err := b.opts.Store.PageKeys(ctx, all, from, 1)
		if err != nil {
			return n, fmt.Errorf("prune runs: %w", err)
		}
		if len(page) == 0 {
			break
		}
		owner, _, _ := strings.Cut(strings.TrimPrefix(page[0], all), "/")
		of, err := b.pruneOf(ctx, owner+"/", keep, rest)
		if n += of; err != nil {
			return n, fmt.Errorf("prune runs: %w", err)
		}
		from = all + owner + "0" // behind "/"
	}
	return n, nil
}

// pruneOf prunes the runs of an owner, "<owner>/". Their ids sort by time.
func (b *Book) pruneOf(ctx context.Context, owner string, keep Keep, rest Rest) (n int, err error) {
	all := prefix + "run/" + owner
	beyond := 0
	if keep.Number > 0 {
		beyond = -keep.Number
		for from := ""; ; {
			keys, next, err := b.opts.Store.PageKeys(ctx, all, from, 16*prunedBatch)
			if err == nil {
				err = rest(ctx)
			}
			if err != nil {
				return 0, err
			}
			if beyond += len(keys); next == "" {
				break
			}
			from = next
		}
	}
	for from := ""; ; {
		rows, next, err := b.opts.Store.Page(ctx, all, from, prunedBatch)
		if err != nil {
			return n, err
		}
		for _, row := range rows {
			var rec Record
			if err := json.Unmarshal(row.Value, &rec); err != nil {
				return n, fmt.Errorf("read run %s: %w", row.Key, err)
			}
			if beyond <= 0 && !before(rec.Created, keep.Before) {
				return n, nil // and neither is any behind it
			}
			if !rec.Over() || beyond <= 0 && !before(rec.Updated, keep.Before) || b.executes(rec.ID) {
				continue
			}
			wanted, err := b.isWanted(ctx, owner, &rec)
			if err != nil {
				return n, err
			}
			if wanted {
				continue
			}
			if err := b.removeRun(ctx, row.Key, row.Rev, owner, &rec, rest); err != nil {
				return n, err
			}
			n++
			beyond--
		}
		if from = next; next == "" {
			return n, nil
		}
		if err := rest(ctx); err != nil {
			return n, err
		}
	}
}

// before reports whether a time in milliseconds lies before another that is given.
func before(ms int64, t time.Time) bool { return !t.IsZero() && ms < t.UnixMilli() }

func (b *Book) executes(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.live[id] != nil
}

// isWanted reports whether the run above one of an owner's, "<owner>/", goes on: it makes the call of
// the key again where it has no answer to it yet, and nothing is to be done twice.
func (b *Book) isWanted(ctx context.Context, owner string, rec *Record) (bool, error) {
	if rec.Key == "" || rec.Parent == "" {
		return false, nil
	}
	did, err := ucan.ParseDID(strings.TrimSuffix(owner, "/"))
	if err != nil {
		return false, err
	}
	parent, err := b.Find(ctx, rec.above(did), rec.Parent)
	if fault.Of(err) == fault.NotFound {
		return false, nil
	}
	return err == nil && !parent.Over(), err
}

// removeRun removes a run of an owner, "<owner>/", with its own log, which goes first. Its key
// goes with it: a call that has the key later is a new one.
func (b *Book) removeRun(ctx context.Context, key string, rev uint64, owner string, rec *Record, rest Rest) error {
	of := owner + rec.ID
	if err := b.removeBelow(ctx, prefix+"log/"+of+"/", rest); err != nil {
		return err
	}
	if notes := b.opts.Notes; notes != nil {
		if err := b.removeBelow(ctx, notes.Beside(of), rest); err != nil {
			return err
		}
	}
	del, err := b.opts.Spending.Forget(ctx, of)
	if err != nil {
		return err
	}
	expect, del := map[string]uint64{key: rev}, append(del, key) // unless it has changed
	if rec.Key != "" {
		call := keysOf + owner + rec.Key
		id, at, err := b.opts.Store.Get(ctx, call)
		if err != nil {
			return err
		}
		if string(id) == rec.ID {
			expect[call], del = at, append(del, call)
		}
	}
	_, err = b.opts.Store.Apply(ctx, expect, nil, del)
	return err
}

// removeBelow removes the rows below a prefix, with rests between.
func (b *Book) removeBelow(ctx context.Context, prefix string, rest Rest) error {
	for {
		keys, next, err := b.opts.Store.PageKeys(ctx, prefix, "", prunedBatch)
		if err != nil || len(keys) == 0 {
			return err
		}
		if _, err := b.opts.Store.Apply(ctx, nil, nil, keys); err != nil {
			return err
		}
		if err := rest(ctx); err != nil || next == "" {
			return err
		}
	}
}
