package venue

import (
	"context"
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

func (d driver) Resume(ctx context.Context, rec *runs.Record, auth tools.Authority) (runs.Work, *runs.Session, func(), error) {
	if rec.Session != "" {
		return d.agents.GoOn(ctx, rec, auth)
	}
	work, err := d.jobs.resume(ctx, d.gate, rec, auth)
	return work, nil, nil, err
}

func (d driver) Answered(ctx context.Context, owner ucan.DID, waits string) (bool, error) {
	if agent, is := strings.CutPrefix(waits, runs.OfAgent("")); is {
		suspended, err := d.agents.Suspended(ctx, owner, agent)
		return !suspended && err == nil, err
	}
	return d.approvals.Answered(ctx, owner, waits)
}

func (d driver) Gone(ctx context.Context, of tools.Life) (bool, error) { return d.agents.Gone(ctx, of) }

// told is who hears of requests for approvals: a program, and the hook of the
// configuration.
func (v *Venue) told(program func(asking.Request)) func(asking.Request) {
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

// asked is who answers for persons; nobody where nothing is written.
func (v *Venue) asked() tools.Approvals {
	if v.readOnly {
		return nil
	}
	return v.approvals
}
