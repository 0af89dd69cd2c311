package venue

import (
	"context"
	"encoding/json"
	"strings"

	"usher/tools"
	asking "usher/tools/approvals"
	"usher/ucan"
	"usher/venue/approvals"
	"usher/venue/config"
	"usher/venue/runs"
)

// driver has the runs of the venue go on.
type driver struct{ *Venue }

var _ runs.Driver = driver{}

func (d driver) Open(stored []byte) (tools.Authority, error) { return d.mint.Open(stored) }

func (d driver) Resume(ctx context.Context, rec *runs.Record, auth tools.Authority) (_ runs.Work, session *runs.Session, undo func(), err error) {
	var work runs.Work
	if rec.Session != "" {
		work, session, undo, err = d.agents.GoOn(ctx, rec, auth)
	} else {
		work, err = d.jobs.resume(ctx, d.gate, rec, auth)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	return func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		ctx, err := d.withBudgets(ctx, auth, r.Owner(), rec)
		if err != nil {
			return nil, err
		}
		return work(ctx, r)
	}, session, undo, nil
}

func (d driver) IsAnswered(ctx context.Context, owner ucan.DID, waits string) (bool, error) {
	if agent, is := strings.CutPrefix(waits, runs.OfAgent("")); is {
		suspended, err := d.agents.IsSuspended(ctx, owner, agent)
		return !suspended && err == nil, err
	}
	return d.approvals.IsAnswered(ctx, owner, waits)
}

func (d driver) IsGone(ctx context.Context, of tools.Life) (bool, error) {
	return d.agents.IsGone(ctx, of)
}

// audience is who hears of requests for approvals: a program, and the hook of the
// configuration.
func (v *Venue) audience(program func(asking.Request)) func(asking.Request) {
	return func(req asking.Request) {
		if program != nil {
			program(req)
		}
		v.hook.Tell(req)
	}
}

// hookOf is the hook of a configuration.
func hookOf(c *config.Config) approvals.Target {
	h := c.Approvals.Hook
	return approvals.Target{Command: h.Command, Dir: c.Dir, URL: h.URL, Timeout: h.Timeout}
}

// approver is who answers for persons; nobody where nothing is written.
func (v *Venue) approver() tools.Approvals {
	if v.readOnly {
		return nil
	}
	return v.approvals
}
