package schedules

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/scheduler"
	"usher/venue/runs"
)

var errAgent = fault.New(fault.Refused, "only the owner in person schedules what an agent is to do by itself: leave agent out, and it is done as you")

// ahead is how far ahead an agent schedules at least: as much as lies between two times
// of cron, so that what it schedules cannot schedule itself in a circle without end.
const ahead = time.Minute

// Schedule makes a schedule, or replaces one.
func (r *Room) Schedule(ctx context.Context, call tools.Call, in scheduler.Schedule) (out scheduler.ScheduleResult, err error) {
	rec, err := r.draft(ctx, call, in)
	if err != nil {
		return out, err
	}
	err = r.change(ctx, call, func(with *runs.With) error {
		old, err := r.read(ctx, rec.owner, rec.ID)
		if err != nil {
			return err
		}
		if old != nil && !in.Overwrite {
			return fault.New(fault.InTheWay, fmt.Sprintf("there is a schedule %s: cancel it first, choose another name, or give overwrite", rec.ID))
		}
		with.Expect[rec.key()] = 0
		if err := rec.put(with, old); err != nil {
			return err
		}
		n, err := r.count(ctx, rec.owner, with)
		if err != nil {
			return err
		}
		if old != nil {
			with.Expect[rec.key()] = old.rev
			_ = n.add(old, -1, r.Most) // fewer are never too many
		}
		if err := n.add(rec, 1, r.Most); err != nil {
			return err
		}
		n.put(rec.owner, with)
		return nil
	})
	if err != nil {
		return out, err
	}
	r.note()
	return scheduler.ScheduleResult{Handle: rec.ID, Time: rec.Next}, nil
}

// draft is the schedule that the call asks for, if what it does would be allowed now,
// or a person could allow it.
func (r *Room) draft(ctx context.Context, call tools.Call, in scheduler.Schedule) (*record, error) {
	now := r.Now()
	times, err := in.Times()
	if err != nil {
		return nil, err
	}
	first := times.First(now)
	switch {
	case !first.IsZero():
	case !times.At.IsZero():
		return nil, &scheduler.PastError{At: times.At}
	default:
		return nil, fault.New(fault.InvalidInput, "none of its times comes within five years")
	}
	if !call.Authority().Bound().IsZero() && in.Cron == "" && first.Sub(now) < ahead {
		return nil, fault.New(fault.InvalidInput, fmt.Sprintf("an agent schedules at least %s ahead", ahead))
	}
	auth := call.Authority()
	if in.Agent != "" {
		if auth.Actor() != "" || !auth.Bound().IsZero() {
			return nil, errAgent
		}
		if auth, err = r.Agents.Authority(ctx, call.Owner(), in.Agent); err != nil {
			return nil, err
		}
		if auth.Owner() != call.Owner() {
			return nil, fault.New(fault.Refused, fmt.Sprintf("agent %s acts in a namespace of its own: only it can schedule there", in.Agent))
		}
	}
	life, err := r.NewID()
	if err != nil {
		return nil, err
	}
	rec := &record{
		ID: cmp.Or(in.Name, life), Life: life, Cron: in.Cron, Zone: in.Zone, Policy: in.Missed, Note: in.Note, Agent: auth.Actor(), Via: auth.Via(),
		Created: now.UnixMilli(), Next: first.UnixMilli(), owner: call.Owner(),
	}
	if rec.Input, err = tools.Object(in.Input); err != nil {
		return nil, err
	}
	if rec.Op, err = r.checkOperation(ctx, auth.ForSchedule(rec.ID, call.Authority()), in.Operation, rec.Input); err != nil {
		return nil, err
	}
	rec.Authority, err = auth.ForSchedule(rec.ID, tools.Authority{}).MarshalJSON()
	return rec, err
}

// checkOperation returns the reference of the operation, unless the gate would deny the call
// now.
func (r *Room) checkOperation(ctx context.Context, auth tools.Authority, operation string, input json.RawMessage) (string, error) {
	ruling, err := r.Gate.Decide(ctx, auth, tools.Invocation{Operation: operation, Input: input})
	if err != nil {
		return "", err
	}
	if ruling.Verdict() == tools.Denied {
		if denial := ruling.Denial(); denial != nil {
			return "", denial
		}
		return "", fault.New(fault.Refused, ruling.Entry().Reason)
	}
	return ruling.Operation().Reference(), nil
}

// Cancel removes a schedule. What it has started goes on.
func (r *Room) Cancel(ctx context.Context, call tools.Call, in scheduler.Ref) (out scheduler.CancelResult, err error) {
	err = r.change(ctx, call, func(with *runs.With) error {
		rec, err := r.find(ctx, call, in.Handle)
		if err != nil {
			return err
		}
		n, err := r.count(ctx, rec.owner, with)
		if err != nil {
			return err
		}
		with.Expect[rec.key()] = rec.rev
		rec.drop(with)
		_ = n.add(rec, -1, r.Most) // fewer are never too many
		n.put(rec.owner, with)
		return nil
	})
	return scheduler.CancelResult{Handle: in.Handle, Cancelled: err == nil}, err
}
