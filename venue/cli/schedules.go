package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/tools/fault"
	"usher/tools/scheduler"
	"usher/venue"
	"usher/venue/runs"
)

type schedulesCmd struct {
	List    schedulesListCmd    `cmd:"" reads:"" help:"List what runs later: when, what it does, and what came of it last."`
	Add     schedulesAddCmd     `cmd:"" help:"Have an operation run later: at a time, after some time, or again and again."`
	Remove  schedulesRemoveCmd  `cmd:"" help:"Remove a schedule: it fires no more."`
	Trigger schedulesTriggerCmd `cmd:"" help:"Fire a schedule now, beside its times."`
}

type schedulesListCmd struct {
	onVenue
	Done bool `help:"List those that have fired for the last time, the latest first."`
}

func (c *schedulesListCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		list, err := schedules(ctx, u, c.Done)
		if err != nil {
			return err
		}
		header := []string{"SCHEDULE", "NEXT", "WHAT", "BY", "LAST", "MISSED"}
		err = printList(s, c.JSON, list, "there are no schedules; usher schedules add makes one", header, func(e *scheduler.Event) []string {
			return []string{e.Handle, s.next(e), s.paint.line(e.Op+" "+brief(string(e.Input)), 60), by(e), s.lastOf(e), s.missesOf(e)}
		})
		if err != nil || c.JSON || c.Done || len(list) == 0 {
			return err
		}
		c.noteUp(s)
		return nil
	})
}

// schedules are all of the user's.
func schedules(ctx context.Context, u *venue.User, done bool) ([]scheduler.Event, error) {
	return every(func(cursor string) ([]scheduler.Event, string, error) {
		page, err := ask[scheduler.Listing](ctx, u, "scheduler:list", scheduler.Query{Done: done, Limit: scheduler.MaxPage, Cursor: cursor})
		return page.Events, page.Cursor, err
	})
}

// by is who makes the call of a schedule.
func by(e *scheduler.Event) string {
	text := cmp.Or(e.Agent, "(owner)")
	if len(e.Via) > 0 {
		text += " for " + strings.Join(e.Via, ", ")
	}
	return text
}

// next is when a schedule fires next.
func (s *streams) next(e *scheduler.Event) string {
	if e.Error != "" {
		return "never: " + e.Error
	}
	if e.Time == 0 {
		return "-"
	}
	return s.minute(time.UnixMilli(e.Time))
}

// lastOf is what came of a schedule the last time.
func (s *streams) lastOf(e *scheduler.Event) string {
	if e.Last == nil {
		return "-"
	}
	text := strings.TrimSpace(e.Last.Status + " " + s.minute(time.UnixMilli(e.Last.Fired)))
	if e.Last.Due != 0 && e.Last.Fired-e.Last.Due >= time.Minute.Milliseconds() {
		text += ", due " + s.minute(time.UnixMilli(e.Last.Due))
	}
	if e.Last.Error != "" {
		text += ": " + e.Last.Error
	}
	return s.paint.line(text, 100)
}

// missesOf says how many times passed without a firing of their own.
func (s *streams) missesOf(e *scheduler.Event) string {
	switch {
	case e.Missed == 0:
		return "-"
	case e.Missed >= scheduler.MaxCounted-1: // more are not counted
		return fmt.Sprintf("%d and more, since %s", e.Missed, s.minute(time.UnixMilli(e.Since)))
	}
	return fmt.Sprintf("%d, since %s", e.Missed, s.minute(time.UnixMilli(e.Since)))
}

// noteUp says what fires schedules, where nothing does.
func (f *fromConfig) noteUp(s *streams) {
	if s.upVenue() == nil {
		s.note("They fire while the venue is up: " + f.command("up"))
	}
}

type schedulesAddCmd struct {
	onVenue
	Operation string `arg:"" help:"The operation: covia:write, agent:request, or one of yours such as o/report."`
	Input     string `arg:"" optional:"" default:"{}" placeholder:"JSON|@FILE" help:"Its input, a JSON object; @FILE reads it from a file."`

	Name      string `placeholder:"NAME" help:"Name of the schedule. Without it, one is made."`
	At        string `placeholder:"TIME" help:"When: a time such as 2026-12-24T18:00:00+01:00."`
	After     string `placeholder:"DURATION" help:"How long from now, such as 90m."`
	Cron      string `placeholder:"FIELDS" help:"Again and again: minute, hour, day of the month, month and day of the week, such as '0 9 * * 1-5'."`
	Zone      string `placeholder:"ZONE" help:"Time zone of --cron, such as Europe/Berlin. Default: UTC."`
	Missed    string `placeholder:"fire|skip" help:"What becomes of times of --cron that passed while the venue was down: it fires once for all of them, which is the default, or skips them."`
	Agent     string `placeholder:"AGENT" help:"The agent that makes the call. Without it, you do, who may do everything."`
	Note      string `placeholder:"TEXT" help:"What it is for."`
	Overwrite bool   `help:"Replace a schedule of this name."`
}

func (c *schedulesAddCmd) Run(ctx context.Context, s *streams) error {
	input, err := s.object(c.Input)
	if err != nil {
		return err
	}
	in := scheduler.Schedule{
		Operation: c.Operation, Input: input, Name: c.Name, Cron: c.Cron, Zone: c.Zone, Missed: c.Missed, Agent: c.Agent, Note: c.Note, Overwrite: c.Overwrite,
	}
	in.At, in.After = quote(c.At), quote(c.After)
	return withAnswer(ctx, s, &c.onVenue, "scheduler:schedule", in, func(made scheduler.ScheduleResult) error {
		if err := s.answer(c.JSON, made, s.paint.safe(made.Handle)+" fires next at "+s.minute(time.UnixMilli(made.Time))+"\n"); err != nil || c.JSON {
			return err
		}
		c.noteUp(s)
		return nil
	})
}

// quote returns a text as JSON, or nothing.
func quote(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	raw, _ := json.Marshal(text) // of text
	return raw
}

// onSchedule is what commands on one schedule take.
type onSchedule struct {
	onVenue
	Schedule string `arg:"" help:"The schedule's name."`
}

// act runs an operation on the schedule, and prints what came of it.
func act[Out any](ctx context.Context, s *streams, c *onSchedule, operation string, text func(Out) string, then func(*venue.Venue, *venue.User, Out) error) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		out, err := ask[Out](ctx, u, operation, scheduler.Ref{Handle: c.Schedule})
		if fault.Of(err) == fault.NotFound {
			list, listErr := schedules(ctx, u, false)
			if listErr != nil {
				return misuse{err}
			}
			return unknown("there is no schedule", c.Schedule, list, func(e scheduler.Event) string { return e.Handle })
		}
		if err != nil {
			return err
		}
		if err := s.answer(c.JSON, out, s.paint.safe(c.Schedule)+" "+text(out)+"\n"); err != nil || then == nil {
			return err
		}
		return then(v, u, out)
	})
}

type schedulesRemoveCmd struct{ onSchedule }

func (c *schedulesRemoveCmd) Run(ctx context.Context, s *streams) error {
	c.ends = "schedule " + c.Schedule
	return act(ctx, s, &c.onSchedule, "scheduler:cancel", func(scheduler.CancelResult) string { return "is removed" }, nil)
}

type schedulesTriggerCmd struct{ onSchedule }

func (c *schedulesTriggerCmd) Run(ctx context.Context, s *streams) error {
	return act(ctx, s, &c.onSchedule, "scheduler:trigger", func(t scheduler.TriggerResult) string { return "fires as job " + t.Job },
		func(v *venue.Venue, u *venue.User, t scheduler.TriggerResult) error {
			return s.tellJob(ctx, v, u, t.Job)
		})
}

// tellJob tells what became of a job that this command's own venue does: it may have ended already.
func (s *streams) tellJob(ctx context.Context, v *venue.Venue, u *venue.User, job string) error {
	if s.upVenue() != nil {
		return nil
	}
	for _, r := range v.LiveRuns() {
		if r.ID() == job {
			return s.await(ctx, r)
		}
	}
	rec, err := u.Run(ctx, job)
	if err != nil || !rec.Over() {
		return err
	}
	var failed error
	if rec.Status != runs.Complete {
		failed = errors.New(rec.Error)
	}
	s.became(&rec, failed)
	return nil
}

// noteSchedules tells of schedules that an agent made, or that are made for it: once it
// has ended, they are denied.
func (f *fromConfig) noteSchedules(ctx context.Context, s *streams, u *venue.User, agent string) error {
	list, err := schedules(ctx, u, false)
	for _, e := range list {
		if e.Agent == agent || slices.Contains(e.Via, agent) {
			s.warn(fmt.Sprintf("schedule %s is of %s and will be denied when it fires: remove it with %s", e.Handle, agent, f.command("schedules remove "+e.Handle)))
		}
	}
	return err
}
