package schedules

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/store"
)

const (
	lookAgain = time.Minute // at the clock, which may have been set
	tryAgain  = time.Second // where something could not begin
)

// Run fires what is due until ctx ends. Jobs that it has started go on.
func (r *Room) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
		timer.Reset(r.pass(ctx))
	}
}

// pass fires all that is due now, and returns when to look again.
func (r *Room) pass(ctx context.Context) time.Duration {
	wait := lookAgain
	failed := func(err error, what string) {
		switch fault.Of(err) {
		case fault.Busy:
			wait = 0
		case fault.TooManyRuns:
			wait = min(wait, tryAgain)
		case fault.Stopped, fault.Canceled:
		default:
			r.Logger.ErrorContext(ctx, "a schedule could not be fired", "key", what, "error", err)
		}
	}
	if err := r.recall(ctx); err != nil {
		failed(err, past)
	}
	full := make(map[string]bool) // whose jobs are as many as may be
	for key, err := range store.Keys(ctx, r.Store, prefix+due, "") {
		if err != nil {
			failed(err, due)
			return wait
		}
		at, owner, id, err := parseTimeKey(due, key)
		if err != nil {
			failed(err, key)
			continue
		}
		if left := at.Sub(r.Now()); left > 0 {
			return min(wait, left)
		}
		if err := r.fireDue(ctx, owner, id, at, full); err != nil {
			failed(err, key)
		}
		if ctx.Err() != nil {
			return wait
		}
	}
	return wait
}

// parseTimeKey reads a key of [timeKey].
func parseTimeKey(kind, key string) (at time.Time, owner ucan.DID, id string, err error) {
	ms, rest, _ := strings.Cut(strings.TrimPrefix(key, prefix+kind), "/")
	of, id, _ := strings.Cut(rest, "/")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err == nil {
		owner, err = ucan.ParseDID(of)
	}
	return time.UnixMilli(n), owner, id, err
}

// fireDue fires the schedule of a row that says that it is due, unless it is of those
// who have as many jobs as they may.
func (r *Room) fireDue(ctx context.Context, owner ucan.DID, id string, at time.Time, full map[string]bool) error {
	rec, err := r.read(ctx, owner, id)
	if err != nil {
		return err
	}
	if rec == nil || rec.Next != at.UnixMilli() { // it was changed since the row was read
		return nil
	}
	of := owner.String() + "/" + strings.Join(rec.countIDs(), "/")
	if full[of] {
		return runs.ErrTooMany
	}
	err = r.settle(ctx, rec, r.Now(), false)
	full[of] = errors.Is(err, runs.ErrTooMany)
	return err
}

// recall takes back that times have passed which are to come: the clock was ahead, and
// was set back. What has fired for its time does not fire for it again.
func (r *Room) recall(ctx context.Context) error {
	for {
		rows, _, err := r.Store.PageBack(ctx, prefix+past, "", 1)
		if err != nil || len(rows) == 0 {
			return err
		}
		now := r.Now()
		at, owner, id, err := parseTimeKey(past, rows[0].Key)
		if err != nil || at.Sub(now) <= late {
			return err
		}
		rec, err := r.read(ctx, owner, id)
		if err != nil {
			return err
		}
		if rec == nil || rec.Past != at.UnixMilli() { // it was changed since the row was read, which then is gone
			if _, err := r.Store.Apply(ctx, map[string]uint64{rows[0].Key: rows[0].Rev}, nil, []string{rows[0].Key}); err != nil {
				return err
			}
			continue
		}
		times, err := rec.times()
		if err != nil {
			return r.end(ctx, rec, err)
		}
		next := *rec
		next.Past, next.Floor = 0, 0
		from := time.UnixMilli(rec.Floor - 1)
		if now.After(from) {
			from = now
		}
		next.Next = times.Next(from).UnixMilli()
		if err := r.replace(ctx, rec, &next); err != nil {
			return err
		}
	}
}
