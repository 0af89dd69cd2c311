package visitors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What nobody approved is kept for strayLife, so that strangers fill no table, and an autonomous
// agent for as long beyond its end. One that a person has approved, and that has ended, is kept
// for overLife.
const (
	strayLife = time.Hour
	overLife  = 30 * 24 * time.Hour
)

// jobLife is for how long an agent may ask for a run that it began; jobMark and codeMark begin
// the marks of one, and of a code that is used up.
const (
	jobLife  = 24 * time.Hour
	jobMark  = "job:"
	codeMark = "code:"
)

// sweepFew is how many marks that are due are looked at with each new one: more than come.
const sweepFew = 4

const duePrefix = prefix + "due/"

func dueKey(at time.Time, id string) string {
	return fmt.Sprintf("%s%015d/%s", duePrefix, at.UnixMilli(), id)
}

// due is when an agent is forgotten that stays as it is; zero for one that goes on.
func (r *Room) due(a *Agent) time.Time {
	switch {
	case a.Mode == Autonomous && a.Status != Claimed:
		end := r.end(a)
		return end.Add(strayLife)
	case a.Activated == 0 && a.Ask != nil:
		return time.UnixMilli(max(a.Created+strayLife.Milliseconds(), a.Ask.Expires))
	case a.Activated == 0:
		return time.UnixMilli(a.Created).Add(strayLife)
	case a.Status == Active:
		return time.Time{}
	}
	return time.UnixMilli(a.Updated).Add(overLife)
}

// over adds to a change that an agent has ended, with all of its grants.
func (r *Room) over(c *change, a *Agent, status Status) {
	c.end(a, Revoked, r.Now(), every)
	a.Status = status
	c.agent(a, r.Now())
	r.mark(c, a)
}

// mark adds to a change the mark of when an agent is looked at that it has.
func (r *Room) mark(c *change, a *Agent) {
	if due := r.due(a); !due.IsZero() {
		c.Put[dueKey(due, a.ID)] = nil
	}
}

// sweep forgets some agents that nobody answers for, with their hosts and keys. What cannot be
// swept now is swept later.
func (r *Room) sweep(ctx context.Context) error {
	keys, _, err := r.Store.PageKeys(ctx, duePrefix, "", sweepFew)
	if err != nil {
		return err
	}
	now := dueKey(r.Now(), "")
	for _, key := range keys {
		if key >= now {
			return nil
		}
		_, id, _ := strings.Cut(strings.TrimPrefix(key, duePrefix), "/")
		err := r.sweepOne(ctx, key, id)
		if _, moved := errors.AsType[*staleError](err); err != nil && !moved {
			return err
		}
	}
	return nil
}

func (r *Room) sweepOne(ctx context.Context, mark, id string) error {
	c := newChange()
	c.Del = []string{mark}
	of := ""
	if run, ok := strings.CutPrefix(id, jobMark); ok {
		of = jobKey(run)
	} else if digest, ok := strings.CutPrefix(id, codeMark); ok {
		of = codeKey(digest)
	}
	if of != "" {
		_, err := r.Store.Apply(ctx, nil, nil, []string{mark, of})
		return err
	}
	a, h, err := r.agent(ctx, id)
	if err != nil {
		return err
	}
	acted := false
	if a != nil {
		switch due := r.due(a); {
		case due.IsZero(): // once it has ended, it has another mark
		case due.Before(r.Now()):
			acted = a.Activated != 0
			if err := r.drop(ctx, c, a, h); err != nil {
				return err
			}
		default:
			r.mark(c, a)
		}
	}
	moved, err := r.Store.Apply(ctx, c.Expect, c.Put, c.Del)
	if err == nil && moved != "" {
		return &staleError{moved}
	}
	if acted { // of all others nobody has asked what they may do
		r.epoch.Add(1)
	}
	return err
}

// drop adds to a change that an agent is forgotten, and its host where that has no other agent
// and was never anybody's. The key of one that a person has approved is nobody else's for good.
func (r *Room) drop(ctx context.Context, c *change, a *Agent, h *Host) error {
	if err := r.forget(ctx, c, a); err != nil {
		return err
	}
	c.Expect[agentKey(a.ID)] = a.rev
	c.Del = append(c.Del, agentKey(a.ID), ofHost(h.ID)+a.ID)
	if !a.User.IsZero() {
		c.Del = append(c.Del, personal(a.User, ofAgents)+a.ID)
	}
	if a.Mode == Autonomous || a.Activated == 0 {
		if err := r.release(ctx, c, a.Key, "agent "+a.ID); err != nil {
			return err
		}
	}
	marks, _, err := r.Store.PageKeys(ctx, ofHost(h.ID), "", 2)
	if err != nil {
		return err
	}
	last := len(marks) == 0 || len(marks) == 1 && marks[0] == ofHost(h.ID)+a.ID
	if last && h.User.IsZero() {
		c.same(h)
		c.Del = append(c.Del, hostKey(h.ID))
		if err := r.release(ctx, c, h.Key, "host "+h.ID); err != nil {
			return err
		}
		slots, _, err := r.Store.PageKeys(ctx, slotsOf(h.ID), "", maxSlots)
		if err != nil {
			return err
		}
		c.Del = append(c.Del, slots...)
	}
	return nil
}
