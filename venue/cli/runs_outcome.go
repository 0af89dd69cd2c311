package cli

import (
	"cmp"
	"context"

	"usher/runtime"
	"usher/tools/grid"
	"usher/venue"
	"usher/venue/runs"
)

// openCall is a call of a run that never came to an outcome, as a row.
func (s *streams) openCall(c *runs.OpenCall) []string {
	label := "unknown effect"
	if !c.IsUnknown() {
		label = "never started"
	}
	text := s.paint.line(c.ID+": "+cmp.Or(c.Operation, c.Name)+" "+brief(c.Arguments), 200)
	if c.Said != nil {
		text += "; " + s.said(c.Said)
	}
	return []string{label, text}
}

// said is what a person said of a call, as one line.
func (s *streams) said(ev *runtime.OutcomeSaid) string {
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
		said, err := ask[grid.Said](ctx, u, "grid:jobOutcome", grid.Outcome{ID: r.ID, Call: c.Call, Outcome: c.Outcome, Note: c.Note})
		if err != nil {
			return err
		}
		return s.answer(c.JSON, said, said.ID+" "+said.Call+" "+said.Outcome+"\n")
	})
}
