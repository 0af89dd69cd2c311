package approvals

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/ucan"
)

// Answered reports whether a request needs nobody any more, of a run of owner.
func (r *Room) Answered(ctx context.Context, owner ucan.DID, id string) (bool, error) {
	rec, _, err := r.find(ctx, r.person(owner), id)
	if fault.Of(err) == fault.NotFound {
		return true, nil
	}
	return err == nil && rec.Status != approvals.Pending, err
}

// Run has the runs of requests go on that nobody has answered in time, until ctx ends.
func (r *Room) Run(ctx context.Context) {
	const often = time.Minute
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		if err := r.expire(ctx); err != nil && ctx.Err() == nil {
			r.Logger.LogAttrs(ctx, slog.LevelWarn, "requests that have expired are not told", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *Room) expire(ctx context.Context) error {
	const due = prefix + "due/"
	for {
		rows, _, err := r.Store.Page(ctx, due, "", 100)
		if err != nil {
			return err
		}
		for _, row := range rows {
			var ms int64
			var id string
			if _, err := fmt.Sscanf(row.Key[len(due):], "%d/%s", &ms, &id); err != nil {
				return err
			}
			if ms >= r.Now().UnixMilli() {
				return nil
			}
			owner := string(row.Value)
			if _, err := r.Store.Apply(ctx, nil, nil, []string{row.Key, openKey(owner, id)}); err != nil {
				return err
			}
			rec, _, err := r.find(ctx, owner, id)
			if err != nil {
				continue // removed
			}
			r.tell(&rec)
			if err := r.wake(ctx, &rec); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			return nil
		}
	}
}
