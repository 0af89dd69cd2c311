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

// short is a run that is to go on and found no room.
type short struct {
	id     string
	places []place
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
	p, limit, is := b.fullPlace(r.places)
	if !is {
		return nil
	}
	if r.again && !slices.ContainsFunc(b.short[r.owner], func(s short) bool { return s.id == r.rec.ID }) {
		b.short[r.owner] = append(b.short[r.owner], short{r.rec.ID, r.places})
	}
	of := ""
	if p.agent != "" {
		of = " of agent " + p.agent
	}
	return fmt.Errorf("%w (%d%s)", ErrTooMany, limit, of)
}

// fullPlace returns the first of some places where as many runs execute as may. The caller
// holds mu.
func (b *Book) fullPlace(places []place) (p place, limit int, is bool) {
	for _, p := range places {
		limit := b.opts.AtOnce
		if p.agent != "" {
			limit = (limit + 3) / 4
		}
		if b.busy[p] >= limit {
			return p, limit, true
		}
	}
	return p, 0, false
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
	for b.goesOn() {
		id := b.roomy(owner)
		if id == "" {
			return
		}
		rec, err := b.Find(ctx, owner, id)
		goes := err == nil && !rec.Over()
		if goes && rec.Status == Waiting {
			goes, err = b.mayGoOn(ctx, owner, &rec)
		}
		if goes {
			_, err = b.resume(ctx, owner, &rec) // itself: what began it may wait for something else
		}
		if err != nil && fault.Of(err) != fault.NotFound {
			b.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "a run that found no room does not go on", slog.String("run", id), slog.Any("error", err))
		}
	}
}

// roomy takes the first of an owner's runs that found no room and would find some now out
// of those; "" is none.
func (b *Book) roomy(owner ucan.DID) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.short[owner]
	i := slices.IndexFunc(all, func(s short) bool {
		_, _, is := b.fullPlace(s.places)
		return !is
	})
	if i < 0 {
		return ""
	}
	id := all[i].id
	if b.short[owner] = slices.Delete(all, i, i+1); len(all) == 1 {
		delete(b.short, owner)
	}
	return id
}
