package agents

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
)

// fails reports whether a turn ended for what the agent itself cannot do: its model
// failed, or none of its answers had the agent's form. What whoever asks can bring about,
// such as an answer in a form of theirs or a request that the model's server refuses, would
// let them suspend it.
func (c *conversation) fails(err error) bool {
	code := fault.Of(err)
	if code == fault.Output {
		return !c.form
	}
	if _, model := errors.AsType[*runtime.ModelError](err); !model {
		return false
	}
	switch code {
	case fault.Window, fault.Refused, fault.RateLimited, fault.BudgetSpent, fault.BudgetRaise, fault.NoPrice,
		fault.Waiting, fault.Stopped, fault.Canceled, fault.Interrupted, fault.Denied, fault.InvalidInput,
		fault.Status(http.StatusBadRequest), fault.Status(http.StatusRequestEntityTooLarge), fault.Status(http.StatusUnprocessableEntity):
		return false
	}
	return true
}

// judge notes how a turn of an agent ended, and suspends an agent of which too many in a
// row failed. Nothing is written for a turn that succeeds but the first one after those.
func (r *Room) judge(ctx context.Context, c *conversation, err error) {
	fails := err != nil && c.fails(err)
	if rec := c.entry.rec.Load(); rec == nil || !fails && (err != nil || rec.Failing == nil) {
		return
	}
	k, life := c.entry.key, c.actor.Authority.Life()
	suspended := false
	failed := r.Book.note(context.WithoutCancel(ctx), k, func(old *record) *record {
		if suspended = false; old.life(k) != life || old.Status == agents.Terminated || !fails && old.Failing == nil {
			return nil
		}
		next := *old
		if !fails {
			next.Failing = nil
			return &next
		}
		failing := agents.FailureStreak{Since: r.Now().UnixMilli()}
		if old.Failing != nil {
			failing = *old.Failing
		}
		failing.Turns, failing.Error, failing.Code = failing.Turns+1, tools.Cut(err.Error()), string(fault.Of(err))
		next.Failing = &failing
		if most := old.Config.MaxFailures(); old.Status == agents.Sleeping && most > 0 && failing.Turns >= most {
			next.Status, next.Updated, suspended = agents.Suspended, r.Now().UnixMilli(), true
		}
		return &next
	})
	switch {
	case failed != nil:
		r.Logger.LogAttrs(ctx, slog.LevelWarn, "how a turn of an agent ended is not noted", slog.String("agent", k.id), slog.Any("error", failed))
	case suspended:
		r.Logger.LogAttrs(ctx, slog.LevelWarn, "an agent is suspended: its turns fail", slog.String("agent", k.id), slog.Any("error", err))
	}
}

// note replaces the record of an agent by what f makes of it, where that is not nil, for
// the venue itself. It is asked again where others change the record meanwhile.
func (b *Book) note(ctx context.Context, k key, f func(old *record) *record) error {
	held, _, err := b.changing.Lock(ctx, recordKey(k))
	if err != nil {
		return err
	}
	defer held.Unlock()
	for range maxChanges {
		_, old, err := b.refresh(ctx, k)
		if err != nil || old == nil {
			return err
		}
		next := f(old)
		if next == nil {
			return nil
		}
		moved, err := b.put(ctx, map[string]uint64{recordKey(k): old.rev}, k, next)
		if err != nil {
			return err
		}
		if moved == "" {
			_, _, err = b.refresh(ctx, k)
			return err
		}
	}
	return errChanging
}

// ready is an error where the agent takes no work any more, as a turn of it is about to
// begin: a task waits until it is resumed.
func (r *Room) ready(c *conversation, task bool) error {
	k, rec := c.entry.key, c.entry.rec.Load()
	switch {
	case !rec.lives(k, c.actor.Authority.Life()):
		return errOver(k.id)
	case rec.Status == agents.Suspended && task:
		return &tools.WaitError{Agent: k.id}
	case rec.Status == agents.Suspended:
		return errNoWork(k.id, rec)
	}
	return nil
}
