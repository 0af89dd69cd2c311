package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"usher/runtime"
	"usher/venue"
)

// onOut is the streams with what is said of the conversation on standard
// output, for a command whose answer that is.
func (s *streams) onOut() *streams {
	page := *s
	page.err, page.notes = s.out, s.paint
	return &page
}

// logOf is what happened in a session.
func logOf(ctx context.Context, agent *venue.Agent, session string) ([]runtime.Entry, error) {
	var entries []runtime.Entry
	for e, err := range agent.History(ctx, session) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// transcript prints what was said in a session, and what was done.
func (s *streams) transcript(entries []runtime.Entry) {
	p := s.page()
	for _, e := range entries {
		p.entry(e)
	}
	if len(entries) == 0 {
		s.note("nothing was said yet")
	}
}

// page prints what happens, entry by entry.
type page struct {
	*streams
	calls map[string]runtime.ToolCall
	model string // that answered last
}

func (s *streams) page() *page { return &page{streams: s, calls: make(map[string]runtime.ToolCall)} }

func (s *page) entry(e runtime.Entry) {
	switch ev := e.Event.(type) {
	case runtime.TurnStarted:
		s.note(e.Time.Local().Format(time.DateTime))
		fmt.Fprintln(s.err, s.notes.bold("> ")+s.notes.safe(ev.Text))
	case runtime.ContextMissing, runtime.OutputRejected:
		s.told(ev)
	case runtime.Received:
		s.note("message from " + ev.From + ":")
		fmt.Fprintln(s.err, s.notes.safe(ev.Text))
	case runtime.Answered:
		if s.model != "" && ev.Model != "" && ev.Model != s.model {
			s.note(fmt.Sprintf("%s answers from here on (%s before)", ev.Model, s.model))
		}
		s.model = cmp.Or(ev.Model, s.model)
		if ev.Text != "" {
			fmt.Fprintln(s.err, s.notes.safe(strings.TrimSuffix(ev.Text, "\n")))
		}
	case runtime.ToolStarted:
		s.calls[ev.Call.ID] = ev.Call
	case runtime.ToolFinished:
		s.tool(ev, s.calls[ev.CallID].Arguments)
	case runtime.Step:
		s.note(fmt.Sprintf("step %d: %s", ev.N, stepLine(&ev)))
	case runtime.Compacted:
		s.note("from here on, this summary stands for all that is above:")
		fmt.Fprintln(s.err, s.notes.safe(ev.Summary))
	case runtime.TurnFinished:
		switch {
		case ev.Error != "":
			s.note("not finished: " + ev.Error)
		case answeredNothing(&ev):
			s.note(nothingSaid)
		}
	}
}

const nothingSaid = "the model answered nothing"

// answeredNothing reports whether a turn that ended well has no answer.
func answeredNothing(ev *runtime.TurnFinished) bool {
	return ev.Error == "" && ev.Output == nil && strings.TrimSpace(ev.Text) == ""
}
