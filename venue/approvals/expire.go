package approvals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store"
)

// IsAnswered reports whether a request needs nobody any more, of a run of owner.
func (r *Room) IsAnswered(ctx context.Context, owner ucan.DID, id string) (bool, error) {
	rec, _, err := r.find(ctx, r.person(owner), id)
	if fault.Of(err) == fault.NotFound {
		return true, nil
	}
	return err == nil && rec.Status != approvals.Pending, err
}

// Run has the runs of requests go on that nobody has answered in time, and closes the
// requests of runs that are over, until ctx ends.
func (r *Room) Run(ctx context.Context) {
	const often, seldom = time.Minute, time.Hour
	tick := time.NewTicker(often)
	defer tick.Stop()
	for n := 1; ; n++ {
		err := r.Expire(ctx)
		if n%int(seldom/often) == 0 {
			err = errors.Join(err, r.closeOver(ctx, allOpen))
		}
		if err != nil && ctx.Err() == nil {
			r.Logger.LogAttrs(ctx, slog.LevelWarn, "requests that are over are not told", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Expire wakes the run of each request that nobody has answered in time, and takes its
// mark only then: what a crash leaves is done again.
func (r *Room) Expire(ctx context.Context) (failed error) {
	const due = prefix + "due/"
	for row, err := range store.Rows(ctx, r.Store, due, "") {
		if err != nil {
			return err
		}
		var ms int64
		var id string
		if _, err := fmt.Sscanf(row.Key[len(due):], "%d/%s", &ms, &id); err != nil {
			return err
		}
		if ms >= r.Now().UnixMilli() {
			break
		}
		rec, _, err := r.find(ctx, string(row.Value), id)
		switch {
		case fault.Of(err) == fault.NotFound || err == nil && rec.stored != approvals.Pending:
			_, err = r.Store.Apply(ctx, nil, nil, []string{row.Key})
		case err == nil:
			if err = r.wake(ctx, &rec); err == nil {
				err = r.over(ctx, &rec)
			}
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// over closes a request that is pending no more, and tells of it once.
func (r *Room) over(ctx context.Context, rec *record) error {
	was, err := r.close(ctx, rec)
	if was {
		r.tell(rec)
	}
	return err
}

const allOpen = prefix + "open/"

// closeOver closes the requests of runs that are over, of those whose marks lie below a key.
func (r *Room) closeOver(ctx context.Context, below string) (failed error) {
	for key, err := range store.Keys(ctx, r.Store, below, "") {
		if err != nil {
			return err
		}
		owner, id, _ := strings.Cut(key[len(allOpen):], "/")
		rec, _, err := r.find(ctx, owner, id)
		switch {
		case fault.Of(err) == fault.NotFound:
			_, err = r.Store.Apply(ctx, nil, nil, []string{key})
		case err == nil && rec.Status == approvals.Ended:
			err = r.over(ctx, &rec)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
