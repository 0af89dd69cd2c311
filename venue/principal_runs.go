package venue

import (
	"context"
	"iter"

	"usher/runtime"
	"usher/venue/runs"
)

// Start runs an operation in the background and returns the id of its run, which
// outlives ctx. It is grid:invoke.
func (p *Principal) Start(ctx context.Context, operation string, input any) (id string, err error) {
	var started struct{ ID string }
	err = p.ask(ctx, "grid:invoke", map[string]any{"operation": operation, "input": input}, &started)
	return started.ID, err
}

// Events follows a run of the principal, also one that has ended: it yields the
// events of its log after the number after, and then those that come, as long as
// the principal is one and may. See [runs.Run.Events].
func (p *Principal) Events(ctx context.Context, id string, after uint64) iter.Seq2[runtime.Entry, error] {
	return func(yield func(runtime.Entry, error) bool) {
		if err := p.may(ctx, "grid:jobStatus", byID{id}); err != nil {
			yield(runtime.Entry{}, err)
			return
		}
		still := p.stillMay(ctx, "grid:jobStatus", byID{id})
		for e, err := range p.runs.Events(ctx, p.DID(), id, after) {
			if ended := still(ctx); ended != nil {
				e, err = runtime.Entry{}, ended
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Run returns the record of a run.
func (p *Principal) Run(ctx context.Context, id string) (runs.Record, error) {
	if err := p.may(ctx, "grid:jobStatus", byID{id}); err != nil {
		return runs.Record{}, err
	}
	rec, err := p.runs.Find(ctx, p.DID(), id)
	rec.Authority = nil // the venue's own
	return rec, err
}

// Runs returns a page of the principal's runs, the latest first: at most limit of
// those before the id before, if that is given. more is where the next page
// begins; empty when nothing follows.
func (p *Principal) Runs(ctx context.Context, before string, limit int) (list []runs.Record, more string, err error) {
	if err := p.may(ctx, "grid:jobList", struct{}{}); err != nil {
		return nil, "", err
	}
	list, more, err = p.runs.List(ctx, p.DID(), before, limit)
	for i := range list {
		list[i].Authority = nil
	}
	return list, more, err
}

// pageOfRuns is how many runs [Principal.RunsBefore] reads at once.
const pageOfRuns = 100

// RunsBefore yields what [Principal.Runs] lists, all of it, and is one call of an operation.
func (p *Principal) RunsBefore(ctx context.Context, before string) iter.Seq2[runs.Record, error] {
	return func(yield func(runs.Record, error) bool) {
		list, more, err := p.Runs(ctx, before, pageOfRuns)
		for {
			for i := range list {
				list[i].Authority = nil
				if !yield(list[i], nil) {
					return
				}
			}
			if err != nil {
				yield(runs.Record{}, err)
			}
			if more == "" || err != nil {
				return
			}
			list, more, err = p.runs.List(ctx, p.DID(), more, pageOfRuns)
		}
	}
}

// OpenCalls lists the calls of a run that never came to an outcome: see
// [runs.Book.OpenCalls].
func (p *Principal) OpenCalls(ctx context.Context, id string) ([]runs.OpenCall, error) {
	if err := p.may(ctx, "grid:jobStatus", byID{id}); err != nil {
		return nil, err
	}
	return p.runs.OpenCalls(ctx, p.DID(), id)
}

// Interruption returns how a turn was cut that nobody drives, or nil: see
// [runs.Book.Interruption].
func (p *Principal) Interruption(ctx context.Context, id string) (*runtime.TurnEnd, error) {
	if err := p.may(ctx, "grid:jobStatus", byID{id}); err != nil {
		return nil, err
	}
	return p.runs.Interruption(ctx, p.DID(), id)
}

// Stop cancels a run, driven or not, and waits for its end: see [runs.Book.Cancel]. One
// that has ended stays as it is.
func (p *Principal) Stop(ctx context.Context, id string) error {
	if err := p.may(ctx, "grid:jobCancel", byID{id}); err != nil {
		return err
	}
	return p.runs.Stop(ctx, p.DID(), id, runtime.ErrStopped)
}

// Await waits until a run has ended or rests, or ctx has ended, and returns its record, where the
// principal may still look at it then. It records nothing: whoever waits has asked for
// [Principal.Run].
func (p *Principal) Await(ctx context.Context, id string) (runs.Record, error) {
	if err := p.Still(ctx, "grid:jobStatus", byID{id}); err != nil {
		return runs.Record{}, err
	}
	rec, err := p.runs.Rest(ctx, p.DID(), id)
	if err == nil {
		err = p.Still(context.WithoutCancel(ctx), "grid:jobStatus", byID{id})
	}
	if err != nil {
		return runs.Record{}, err
	}
	rec.Authority = nil
	return rec, nil
}

// Resume has a run go on that rests, also in a venue that is idle, and returns it: see
// [runs.Run.Events].
func (p *Principal) Resume(ctx context.Context, id string) (*runs.Run, error) {
	if err := p.may(ctx, "grid:jobResume", byID{id}); err != nil {
		return nil, err
	}
	return p.runs.Resume(ctx, p.DID(), id)
}

// byID names a run to an operation.
type byID struct {
	ID string `json:"id"`
}
