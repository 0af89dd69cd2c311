package schedules

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/scheduler"
	"usher/venue/runs"
)

const (
	late    = time.Minute    // so long after its time a schedule fires in time
	settled = 24 * time.Hour // after that, what passed has nothing to do with what passes now
)

// firing is what becomes of a schedule that is due.
type firing struct {
	due    time.Time // the time that it fires for
	next   time.Time // zero: none
	missed int       // times that pass without a firing of their own
	since  time.Time // the first of those
	past   time.Time // the last of those
	skip   bool      // the firing itself is left out
}

// plan says what becomes of the schedule now that it is due, or of times that it is not
// to fire for any more.
func (rec *record) plan(now time.Time, lost bool) (f firing, err error) {
	first := time.UnixMilli(rec.Next)
	f.due = first
	if rec.Cron == "" {
		return f, nil
	}
	times, err := rec.times()
	if err != nil {
		return f, err
	}
	f.due, f.missed = times.CountTo(first, now)
	f.next = times.Next(f.due)
	if now.Sub(f.due) < late && !lost {
		f.missed-- // the last one fires in time
	} else {
		f.skip = lost || rec.Policy == scheduler.MissedSkip
	}
	if f.missed > 0 {
		f.since, f.past = first, f.due
	}
	return f, nil
}

// jobID names the job of a schedule for one of its times: the same one each time that
// it is asked for, and one that nobody can guess.
func (rec *record) jobID(at time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(at)) // schedules end with the year 9999
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", rec.Life, at.UnixMilli()))
	copy(id[6:], sum[:])
	return id.String()
}

// settle lets the times of a schedule pass that are due now: it fires, unless they are lost
// or it has fired for that time.
func (r *Room) settle(ctx context.Context, rec *record, now time.Time, lost bool) error {
	f, err := rec.plan(now, lost)
	if err != nil {
		return r.end(ctx, rec, err)
	}
	auth, err := r.Mint.Open(rec.Authority)
	if err != nil {
		return r.end(ctx, rec, err)
	}
	id := rec.jobID(f.due)
	if _, err := r.Runs.Find(ctx, rec.owner, id); err == nil {
		f.skip, f.missed = true, 0 // the clock was ahead, and is back
	} else if fault.Of(err) != fault.NotFound {
		return err
	}
	next := *rec
	next.Next = 0
	if !f.next.IsZero() {
		next.Next = f.next.UnixMilli()
	}
	if f.missed > 0 {
		if now.Sub(time.UnixMilli(rec.Past)) >= settled {
			next.Floor = f.since.UnixMilli()
		}
		next.Past, next.Missed, next.Since = f.past.UnixMilli(), f.missed, f.since.UnixMilli()
	}
	if !f.skip {
		next.Last = &scheduler.Firing{Job: id, Due: f.due.UnixMilli(), Fired: now.UnixMilli()}
	}
	with, err := r.replacement(ctx, rec, &next)
	if err != nil {
		return err
	}
	if f.skip {
		_, err := r.Store.Apply(ctx, with.Expect, with.Put, with.Del)
		r.tell(ctx, rec, &f, now)
		return err
	}
	fired := &runs.Firing{Schedule: rec.ID, Due: f.due.UnixMilli(), Missed: f.missed}
	if f.missed > 0 {
		fired.Since = f.since.UnixMilli()
	}
	if err := r.start(ctx, auth, rec, runs.Spec{ID: id, Fired: fired, With: with}); err != nil {
		return err
	}
	r.tell(ctx, rec, &f, now)
	return nil
}

// start starts the job of a schedule. Its record has all that it needs.
func (r *Room) start(ctx context.Context, auth tools.Authority, rec *record, spec runs.Spec) error {
	spec.Kind, spec.Op, spec.Input, spec.Background = runs.Job, rec.Op, rec.Input, true
	_, err := r.Runs.Start(ctx, auth, spec, func(ctx context.Context, run *runs.Run) (json.RawMessage, error) {
		if r.Charged != nil {
			var err error
			if ctx, err = r.Charged(ctx, auth); err != nil {
				return nil, err
			}
		}
		res, err := r.Gate.Invoke(ctx, auth.InRun(run.ID()), tools.Invocation{Operation: rec.Op, Input: rec.Input, At: runs.OfJob})
		return res.Output, err
	})
	return err
}

// tell logs what is not as it should be.
func (r *Room) tell(ctx context.Context, rec *record, f *firing, now time.Time) {
	if f.missed == 0 && now.Sub(f.due) < late {
		return
	}
	what := "a schedule fired late"
	if f.skip {
		what = "a schedule missed its time"
	}
	attrs := []any{slog.String("schedule", rec.of()), slog.Time("due", f.due), slog.Time("now", now)}
	if f.missed > 0 {
		attrs = append(attrs, slog.Int("missed", f.missed), slog.Time("since", f.since))
	}
	r.Logger.WarnContext(ctx, what, attrs...)
}

// maxDone bounds the schedules of a principal that have fired for the last time and are
// kept.
const maxDone = 100

// replacement is the batch that puts next in the place of rec. One that has fired for the
// last time is kept beside the others, for a while.
func (r *Room) replacement(ctx context.Context, rec, next *record) (*runs.With, error) {
	with := rec.batch()
	if next.Next != 0 || next.Error != "" {
		return with, next.put(with, rec)
	}
	n, err := r.count(ctx, rec.owner, with)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	rec.drop(with)
	if next.Last != nil {
		all := prefix + "done/" + rec.owner.String() + "/"
		if n.Done >= maxDone {
			oldest, _, err := r.Store.PageKeys(ctx, all, "", 1)
			if err != nil {
				return nil, err
			}
			with.Del = append(with.Del, oldest...)
			n.Done -= len(oldest)
		}
		with.Put[next.endKey()] = raw
		n.Done++
	}
	_ = n.add(rec, -1, r.Most) // fewer are never too many
	n.put(rec.owner, with)
	return with, nil
}

// end keeps a schedule that can never fire, and says why.
func (r *Room) end(ctx context.Context, rec *record, why error) error {
	r.Logger.ErrorContext(ctx, "a schedule can never fire again", "schedule", rec.of(), "error", why)
	next := *rec
	next.over(tools.Cut(why.Error()))
	return r.replace(ctx, rec, &next)
}

// over has the schedule fire no more, and say why.
func (rec *record) over(why string) { rec.Next, rec.Past, rec.Floor, rec.Error = 0, 0, 0, why }

// replace puts next in the place of rec.
func (r *Room) replace(ctx context.Context, rec, next *record) error {
	with, err := r.replacement(ctx, rec, next)
	if err == nil {
		_, err = r.Store.Apply(ctx, with.Expect, with.Put, with.Del)
	}
	return err
}

// Trigger fires a schedule beside its times.
func (r *Room) Trigger(ctx context.Context, call tools.Call, in scheduler.Ref) (out scheduler.TriggerResult, err error) {
	for range maxChanges {
		rec, err := r.find(ctx, call, in.Handle)
		if err != nil {
			return out, err
		}
		auth, err := r.Mint.Open(rec.Authority)
		if err != nil {
			return out, err
		}
		next := *rec
		next.Last = &scheduler.Firing{Fired: r.Now().UnixMilli()}
		if next.Last.Job, err = r.NewID(); err != nil {
			return out, err
		}
		with := rec.batch()
		if err := next.put(with, rec); err != nil {
			return out, err
		}
		if err := call.Again(ctx); err != nil {
			return out, err
		}
		err = r.start(ctx, auth.ForSchedule(rec.ID, call.Authority()), rec, runs.Spec{ID: next.Last.Job, Fired: &runs.Firing{Schedule: rec.ID}, With: with})
		if err == nil {
			return scheduler.TriggerResult{Handle: rec.ID, Triggered: true, Job: next.Last.Job}, nil
		}
		if fault.Of(err) != fault.Busy {
			return out, err
		}
	}
	return out, errChanging
}
