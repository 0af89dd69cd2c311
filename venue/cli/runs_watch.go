package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"usher/runtime"
	"usher/tools/pause"
	"usher/venue"
	"usher/venue/runs"
)

type runsWatchCmd struct{ onVenue }

func (c *runsWatchCmd) Help() string {
	return "On a terminal each run that executes is a line that changes; elsewhere, and with --json, each event is one. Ctrl-C leaves, and stops nothing."
}

// Run shows runs until the person leaves.
func (c *runsWatchCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		if s.upVenue() == nil {
			return errors.New("nothing executes here on its own: usher up, or usher serve, keeps a venue running")
		}
		w := &runsWatch{streams: s, user: u, json: c.JSON, came: make(chan runEvent), known: make(map[string]bool)}
		ctx, cancel := context.WithCancel(ctx)
		defer w.following.Wait()
		defer cancel()
		if err := w.begin(ctx, v); err != nil {
			return interruptionOf(ctx, err)
		}
		if w.json || !s.paint.live() {
			s.note("what executes is shown as it happens; Ctrl-C leaves")
		}
		return w.watch(ctx)
	})
}

// runsWatch is a view of the runs that execute.
type runsWatch struct {
	*streams
	user      *venue.User
	json      bool
	came      chan runEvent
	following sync.WaitGroup
	known     map[string]bool // runs that are followed, or were, or had ended before
	lines     []*runLine      // of the terminal, in the order of their beginning
	drawn     int             // how many stand there
}

// runEvent is an event of a run, or its end.
type runEvent struct {
	run   runs.Record
	entry runtime.Entry
	over  bool
	err   error
}

// ending is the last line on a run as JSON, beside those of its events.
type ending struct {
	Type   string `json:"type"`
	Run    string `json:"run"`
	Kind   string `json:"kind"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// runLine is a run that executes.
type runLine struct {
	run  runs.Record
	last string // what happened last
}

// begin takes in what executes now, and leaves out what has ended.
func (w *runsWatch) begin(ctx context.Context, v *venue.Venue) error {
	fresh, err := w.newRuns(ctx)
	if err != nil {
		return err
	}
	for i := range fresh {
		w.known[fresh[i].ID] = fresh[i].Over()
	}
	var now []runs.Record
	for _, r := range v.LiveRuns() {
		if rec, err := w.user.Run(ctx, r.ID()); err == nil { // else it is another user's
			now = append(now, rec)
		}
	}
	slices.SortFunc(now, byBeginning)
	for i := range now {
		w.follow(ctx, now[i])
	}
	return nil
}

func byBeginning(a, b runs.Record) int { return cmp.Compare(a.ID, b.ID) }

func (w *runsWatch) watch(ctx context.Context) error {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		if err := w.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return w.undraw("")
		case h := <-w.came:
			if err := w.take(h); err != nil {
				return err
			}
		case <-again.C:
			fresh, err := w.newRuns(ctx)
			if err != nil {
				return interruptionOf(ctx, err)
			}
			for i := range fresh {
				w.follow(ctx, fresh[i])
			}
		}
	}
}

// lateListing is how long after it has begun a run may come to be listed.
const lateListing = time.Minute

// newRuns are the runs that have begun lately and are not known, also those that have
// ended.
func (w *runsWatch) newRuns(ctx context.Context) (fresh []runs.Record, err error) {
	const page = 50
	since := time.Now().Add(-lateListing).UnixMilli()
	for before := ""; ; {
		list, more, err := w.user.Runs(ctx, before, page)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].Created < since {
				more = ""
				break
			}
			if !w.known[list[i].ID] {
				fresh = append(fresh, list[i])
			}
		}
		if before = more; more == "" {
			break
		}
	}
	slices.SortFunc(fresh, byBeginning)
	return fresh, nil
}

// follow has the events of a run come.
func (w *runsWatch) follow(ctx context.Context, run runs.Record) {
	if w.known[run.ID] {
		return
	}
	w.known[run.ID] = true
	w.lines = append(w.lines, &runLine{run: run})
	if run.Session == "" && !w.json && !w.paint.live() { // else its first event says so
		fmt.Fprintln(w.out, w.text(&run, "began"))
	}
	tell := func(h runEvent) bool {
		select {
		case w.came <- h:
			return true
		case <-ctx.Done():
			return false
		}
	}
	w.following.Go(func() {
		for after := uint64(0); ; {
			for e, err := range w.user.Events(ctx, run.ID, after) {
				if err != nil || !tell(runEvent{run: run, entry: e}) {
					break
				}
				after = max(after, e.Seq)
			}
			now, err := w.user.Run(ctx, run.ID)
			if err != nil || now.Over() {
				tell(runEvent{run: now, over: true, err: err})
				return
			}
			if pause.For(ctx, lookAgain) != nil { // it rests
				return
			}
		}
	})
}

// take notes what has happened, and prints it where nothing is drawn over.
func (w *runsWatch) take(h runEvent) error {
	switch {
	case h.err != nil:
		return h.err
	case h.over:
		w.lines = slices.DeleteFunc(w.lines, func(l *runLine) bool { return l.run.ID == h.run.ID })
		if w.json {
			return w.printLine(ending{"run_ended", h.run.ID, h.run.Kind, h.run.Status, h.run.Error})
		}
		mark := w.paint.good("✓")
		if h.run.Status != runs.Complete {
			mark = w.paint.warn("!")
		}
		text := h.run.Status
		if h.run.Error != "" {
			text += ": " + h.run.Error
		}
		return w.undraw(mark + " " + w.text(&h.run, text) + "\n")
	case h.entry.Seq == 0: // a piece of an answer
		return nil
	case w.json:
		return w.printLine(h.entry)
	}
	text := w.eventLine(h.entry.Event)
	if text == "" {
		return nil
	}
	if w.paint.live() {
		for _, l := range w.lines {
			if l.run.ID == h.run.ID {
				l.last = text
			}
		}
		return nil
	}
	_, err := fmt.Fprintln(w.out, w.text(&h.run, text))
	return err
}

// text is a line on a run.
func (w *runsWatch) text(r *runs.Record, what string) string {
	width := 4000 // of a line that nobody cuts
	if w.paint.tty != nil {
		width = w.paint.width() - 4
	}
	return w.paint.line(r.ID+"  "+r.Kind+"  "+subject(r)+"  "+what, width)
}

// eventLine is an event in a few words; empty where it says nothing new.
func (w *runsWatch) eventLine(ev runtime.Event) string {
	switch ev := ev.(type) {
	case runtime.TurnStart:
		return "began: " + ev.Text
	case runtime.ToolStart:
		return "calls " + ev.Call.Name + " " + brief(ev.Call.Arguments)
	case runtime.ToolEnd:
		return cmp.Or(ev.Operation, ev.Name) + " " + ev.Outcome
	case runtime.Step:
		return fmt.Sprintf("step %d: %s", ev.N, stepLine(&ev))
	case runtime.ModelAnswer:
		return "answered"
	}
	return ""
}

// draw shows what executes on a terminal, in the place of what stood there.
func (w *runsWatch) draw() error {
	if w.json || !w.paint.live() {
		return nil
	}
	var b strings.Builder
	for _, l := range w.lines {
		since := time.Since(time.UnixMilli(l.run.Created)).Truncate(time.Second)
		b.WriteString(w.paint.dim(w.text(&l.run, fmt.Sprintf("%s  %s", max(since, 0), l.last))) + "\n")
	}
	lines := len(w.lines)
	if lines == 0 {
		b.WriteString(w.paint.dim("nothing runs; Ctrl-C leaves") + "\n")
		lines = 1
	}
	if err := w.undraw(b.String()); err != nil {
		return err
	}
	w.drawn = lines
	return nil
}

// undraw writes text in the place of what was drawn last.
func (w *runsWatch) undraw(text string) error {
	if w.drawn > 0 {
		text = fmt.Sprintf("\x1b[%dA\r\x1b[J", w.drawn) + text
		w.drawn = 0
	}
	_, err := fmt.Fprint(w.out, text)
	return err
}
