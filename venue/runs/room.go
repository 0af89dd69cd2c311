package runs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"usher/tools/fault"
	"usher/ucan"
)

// place is whom a background run counts for.
type place struct {
	owner ucan.DID
	agent string // empty: all of the owner
}

// admit takes the run in, if there is room for it.
func (b *Book) admit(r *Run) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed
	}
	if b.live[r.rec.ID] != nil {
		return ErrMoved
	}
	if err := b.full(r); err != nil {
		return err
	}
	for _, p := range r.places {
		b.busy[p]++
	}
	b.live[r.rec.ID] = r
	return nil
}

// room is an error where there is no room for a run that is to go on.
func (b *Book) room(r *Run) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.full(r)
}

// full is an error where as many runs execute as may. One that has begun goes on as soon
// as there is room. The caller holds mu.
func (b *Book) full(r *Run) error {
	for _, p := range r.places {
		limit, of := b.opts.AtOnce, ""
		if p.agent != "" {
			limit, of = (limit+3)/4, " of agent "+p.agent
		}
		if b.busy[p] < limit {
			continue
		}
		if r.again && !slices.Contains(b.short[r.owner], r.rec.ID) {
			b.short[r.owner] = append(b.short[r.owner], r.rec.ID)
		}
		return fmt.Errorf("%w (%d%s)", ErrTooMany, limit, of)
	}
	return nil
}

func (b *Book) leave(r *Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range r.places {
		if b.busy[p]--; b.busy[p] == 0 {
			delete(b.busy, p)
		}
	}
	delete(b.live, r.rec.ID)
	b.settle()
}

// refill has those of an owner's runs go on that found no room, as far as there is some
// since one was left.
func (b *Book) refill(ctx context.Context, owner ucan.DID) {
	b.mu.Lock()
	short := b.short[owner]
	delete(b.short, owner)
	b.mu.Unlock()
	for _, id := range short {
		if !b.goesOn() {
			return
		}
		rec, err := b.Find(ctx, owner, id)
		goes := err == nil && !rec.Over()
		if goes && rec.Status == Waiting {
			goes, err = b.mayGoOn(ctx, owner, &rec)
		}
		if goes {
			_, err = b.Resume(ctx, owner, id)
		}
		if err != nil && fault.Of(err) != fault.NotFound {
			b.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "a run that found no room does not go on", slog.String("run", id), slog.Any("error", err))
		}
	}
}
