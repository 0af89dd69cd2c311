package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"usher/runtime"
	"usher/tools/fault"
	"usher/tools/grid"
	"usher/venue"
	"usher/venue/runs"
)

type runsCmd struct {
	List    runsListCmd    `cmd:"" reads:"" help:"List what was done: turns, tasks, jobs and orchestrations, the latest first."`
	Show    runsShowCmd    `cmd:"" reads:"" help:"Show a run: what it was, how it ended, and what came of it."`
	Follow  runsFollowCmd  `cmd:"" reads:"" help:"Print what happens in a run until it ends, also in one that has ended."`
	Stop    runsStopCmd    `cmd:"" help:"Stop a run."`
	Resume  runsResumeCmd  `cmd:"" help:"Go on with a run that rests, here, until it ends or waits."`
	Outcome runsOutcomeCmd `cmd:"" help:"Say what came of a call whose effect is unknown: its agent is told at the next turn, and the audit keeps it."`
	Watch   runsWatchCmd   `cmd:"" help:"Show what executes in a venue that usher up or usher serve keeps, as it happens."`
}

type runsListCmd struct {
	onVenue
	Limit  int    `default:"50" help:"The most runs to list."`
	Before string `placeholder:"RUN" help:"List those that began before this one."`
}

func (c *runsListCmd) Run(ctx context.Context, s *streams) error {
	return c.list(ctx, s, "runs", func(*runs.Record) bool { return true })
}

// list prints the runs that are wanted, which the command of the name lists.
func (c *runsListCmd) list(ctx context.Context, s *streams, name string, wanted func(*runs.Record) bool) error {
	if c.Limit < 1 {
		return misusef("--limit is %d: list 1 or more", c.Limit)
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		if c.Before != "" {
			if _, err := u.Run(ctx, c.Before); err != nil {
				return c.absent(err, "runs list")
			}
		}
		list, more, err := someRuns(ctx, u, c.Before, c.Limit, wanted)
		if err != nil {
			return err
		}
		header := []string{"RUN", "KIND", "STATUS", "BEGAN", "WHAT"}
		err = printList(s, c.JSON, list, "there are no "+name, header, func(r *runs.Record) []string {
			return []string{r.ID, r.Kind, r.Status, s.minute(time.UnixMilli(r.Created)), subject(r)}
		})
		if err != nil || c.JSON || more == "" {
			return err
		}
		s.note("there are more: " + c.command(name+" list --before "+more))
		return nil
	})
}

// someRuns is a page of those runs that are wanted, the latest first, and where the
// next begins.
func someRuns(ctx context.Context, u *venue.User, before string, limit int, wanted func(*runs.Record) bool) (list []runs.Record, more string, err error) {
	for list = []runs.Record{}; ; {
		page, next, err := u.Runs(ctx, before, limit)
		if err != nil {
			return nil, "", err
		}
		for i := range page {
			if !wanted(&page[i]) {
				continue
			}
			if len(list) == limit {
				return list, list[limit-1].ID, nil
			}
			list = append(list, page[i])
		}
		if before = next; next == "" {
			return list, "", nil
		}
	}
}

// subject is what a run is about.
func subject(r *runs.Record) string {
	var about []string
	for _, part := range []struct{ name, value string }{{"", r.Op}, {"agent ", r.Agent}, {"session ", r.Session}} {
		if part.value != "" {
			about = append(about, part.name+part.value)
		}
	}
	return strings.Join(about, ", ")
}

// onRun is what commands on one run take.
type onRun struct {
	onVenue
	ID string `arg:"" name:"run" help:"The run's id."`
}

// withRun runs fn for a run of the user; one that is not there is misuse.
func (c *onRun) withRun(ctx context.Context, s *streams, fn func(*venue.User, *runs.Record) error) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		r, err := u.Run(ctx, c.ID)
		if err != nil {
			return c.absent(err, "runs list")
		}
		return fn(u, &r)
	})
}

// absent adds to an error about what is not there which command lists the others.
func (f *fromConfig) absent(err error, list string) error {
	if fault.Of(err) != fault.NotFound {
		return err
	}
	return misusef("%w: %s lists them", err, f.command(list))
}

type runsShowCmd struct{ onRun }

func (c *runsShowCmd) Run(ctx context.Context, s *streams) error {
	return c.withRun(ctx, s, func(u *venue.User, r *runs.Record) error { return c.show(ctx, s, u, r) })
}

func (c *runsShowCmd) show(ctx context.Context, s *streams, u *venue.User, r *runs.Record) error {
	open, err := u.OpenCalls(ctx, r.ID)
	if err != nil {
		return err
	}
	cut, err := u.Interruption(ctx, r.ID)
	if err != nil {
		return err
	}
	interrupted := ""
	if cut != nil {
		interrupted = cut.Error
	}
	if c.JSON {
		return s.printJSON(struct {
			*runs.Record
			Interrupted string          `json:"interrupted,omitempty"`
			Open        []runs.OpenCall `json:"openCalls,omitempty"`
		}{r, interrupted, open})
	}
	rows := [][]string{
		{"run", r.ID},
		{"kind", r.Kind},
		{"status", r.Status},
		{"about", subject(r)},
		{"for", strings.Join(r.Via, ", ")},
		{"started by", r.Caller},
		{"part of", r.Parent},
		{"schedule", s.scheduleOf(r)},
		{"began", s.minute(time.UnixMilli(r.Created))},
		{"last change", s.minute(time.UnixMilli(r.Updated))},
		{"error", r.Error},
		{"not finished", interrupted},
	}
	rows = fullRows(rows)
	for i := range r.Steps {
		rows = append(rows, []string{fmt.Sprintf("step %d", r.Steps[i].N), stepLine(&r.Steps[i])})
	}
	for i := range open {
		rows = append(rows, s.openCall(&open[i]))
	}
	if err := s.table(rows); err != nil {
		return err
	}
	c.noteOpen(s, r.ID, open)
	if r.Agent != "" && r.Session != "" {
		s.note(c.command("sessions show "+r.Agent+" "+r.Session) + " has what was said.")
	}
	if len(r.Output) == 0 {
		return nil
	}
	return s.printJSON(r.Output)
}

func stepLine(st *runtime.Step) string {
	line := st.Status + " " + st.Op
	if st.Name != "" {
		line = st.Name + ": " + line
	}
	if st.Error != "" {
		line += ": " + st.Error
	}
	return line
}

// scheduleOf is the schedule that a run is of, and for which of its times.
func (s *streams) scheduleOf(r *runs.Record) string {
	if r.Fired == nil {
		return ""
	}
	text := r.Fired.Schedule
	if r.Fired.Due == 0 {
		return text + ", triggered"
	}
	text += ", due " + s.minute(time.UnixMilli(r.Fired.Due))
	if r.Created-r.Fired.Due >= time.Minute.Milliseconds() {
		text += ", fired " + s.minute(time.UnixMilli(r.Created))
	}
	if r.Fired.Missed > 0 {
		text += fmt.Sprintf(", for %d missed since %s", r.Fired.Missed, s.minute(time.UnixMilli(r.Fired.Since)))
	}
	return text
}

type runsFollowCmd struct {
	onRun
	After uint64 `default:"0" help:"Begin after the event of this number."`
}

func (c *runsFollowCmd) Run(ctx context.Context, s *streams) error {
	return c.withRun(ctx, s, func(u *venue.User, _ *runs.Record) error {
		page := s.onOut()
		for e, err := range u.Events(ctx, c.ID, c.After) {
			if err == nil && c.JSON {
				err = s.printLine(e)
			} else if err == nil {
				page.entry(e)
			}
			if err != nil {
				return interruptionOf(ctx, err)
			}
		}
		return nil
	})
}

type runsStopCmd struct{ onRun }

func (c *runsStopCmd) Run(ctx context.Context, s *streams) error {
	return c.withRun(ctx, s, func(u *venue.User, r *runs.Record) error {
		if r.Over() {
			return &runs.OverError{ID: r.ID, Status: r.Status}
		}
		if err := u.Stop(ctx, r.ID); err != nil {
			return err
		}
		now, err := u.Run(ctx, r.ID)
		if err != nil {
			return err
		}
		return s.answer(c.JSON, now, now.ID+" is "+now.Status+"\n")
	})
}

// openCall is a call of a run that never came to an outcome, as a row.
func (s *streams) openCall(c *runs.OpenCall) []string {
	label := "unknown effect"
	if !c.IsUnknown() {
		label = "never started"
	}
	text := s.paint.line(c.ID+": "+cmp.Or(c.Operation, c.Name)+" "+brief(c.Arguments), 200)
	if c.Said != nil {
		text += "; " + s.outcomeLine(c.Said)
	}
	return []string{label, text}
}

// outcomeLine is what a person said of a call, as one line.
func (s *streams) outcomeLine(ev *runtime.OutcomeNote) string {
	text := "the owner said of " + ev.CallID + " (" + cmp.Or(ev.Operation, ev.Name) + ") that it " + ev.Outcome
	if ev.Note != "" {
		text += ": " + ev.Note
	}
	return s.paint.line(text, 400)
}

// noteOpen says how a person says what came of calls.
func (f *fromConfig) noteOpen(s *streams, run string, open []runs.OpenCall) {
	for i := range open {
		if c := &open[i]; c.IsUnknown() && c.Said == nil {
			s.note("look whether " + cmp.Or(c.Operation, c.Name) + " took effect, and say so: " + f.command("runs outcome "+run+" "+c.ID+" happened|failed"))
		}
	}
}

type runsOutcomeCmd struct {
	onRun
	Call    string `arg:"" help:"The call's id, as runs show lists it."`
	Outcome string `arg:"" enum:"happened,failed" help:"happened: the call took effect; failed: nothing of it happened."`
	Note    string `placeholder:"TEXT" help:"What the agent is told of it."`
}

func (c *runsOutcomeCmd) Run(ctx context.Context, s *streams) error {
	return c.withRun(ctx, s, func(u *venue.User, r *runs.Record) error {
		said, err := ask[grid.OutcomeResult](ctx, u, "grid:jobOutcome", grid.Outcome{ID: r.ID, Call: c.Call, Outcome: c.Outcome, Note: c.Note})
		if err != nil {
			return err
		}
		return s.answer(c.JSON, said, said.ID+" "+said.Call+" "+said.Outcome+"\n")
	})
}
