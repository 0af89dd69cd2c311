package venue

import (
	"cmp"
	"context"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/grid"
)

// usualPage is how many jobs a page has that nobody bounds.
const usualPage = 100

// List is that of [grid.Manager].
func (s *jobs) List(ctx context.Context, call tools.Call, q grid.Query) (grid.Listing, error) {
	list, more, err := s.runs.List(ctx, call.Owner(), q.Cursor, cmp.Or(q.Limit, usualPage))
	out := grid.Listing{Jobs: make([]grid.Job, len(list)), Cursor: more}
	for i := range list {
		r := &list[i]
		out.Jobs[i] = grid.Job{ID: r.ID, Kind: r.Kind, Op: r.Op, Status: r.Status, Created: r.Created, Updated: r.Updated}
	}
	return out, err
}

// Cancel is that of [grid.Manager].
func (s *jobs) Cancel(ctx context.Context, call tools.Call, id string) (grid.Status, error) {
	if err := s.runs.Cancel(ctx, call.Owner(), id); err != nil {
		return grid.Status{}, err
	}
	return s.Status(ctx, call, id)
}

// Pause is that of [grid.Manager]. A run that waits for the call itself is not waited
// for.
func (s *jobs) Pause(ctx context.Context, call tools.Call, id string, wait time.Duration) (grid.Status, error) {
	if err := s.runs.Pause(ctx, call.Owner(), id); err != nil {
		return grid.Status{}, err
	}
	if wait > 0 && !s.runs.Within(call.Owner(), call.Authority().Run(), id) {
		waiting, cancel := context.WithTimeoutCause(ctx, wait, runtime.ErrStopped)
		defer cancel()
		if _, err := s.runs.Rest(waiting, call.Owner(), id); err != nil {
			return grid.Status{}, err
		}
	}
	return s.Status(ctx, call, id)
}

// Resume is that of [grid.Manager].
func (s *jobs) Resume(ctx context.Context, call tools.Call, id string) (grid.Status, error) {
	if err := s.runs.Continue(ctx, call.Owner(), id); err != nil {
		return grid.Status{}, err
	}
	return s.Status(ctx, call, id)
}

// errInPerson: somebody else than the owner would say what came of a call.
var errInPerson = fault.New(fault.Refused, "only the owner in person says what came of a call: usher runs outcome")

// Outcome is that of [grid.Manager].
func (s *jobs) Outcome(ctx context.Context, call tools.Call, in grid.Outcome) (grid.OutcomeResult, error) {
	if !call.Authority().InPerson() || s.isAgent(call.Owner()) {
		return grid.OutcomeResult{}, errInPerson
	}
	of := cmp.Or(in.Call, in.ID)
	_, err := s.runs.Testify(ctx, call.Owner(), in.ID, of, runtime.OutcomeNote{Outcome: in.Outcome, By: call.Owner().String(), Note: in.Note})
	return grid.OutcomeResult{ID: in.ID, Call: of, Outcome: in.Outcome}, err
}

var _ grid.Manager = (*jobs)(nil)
