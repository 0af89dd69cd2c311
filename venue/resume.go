package venue

import (
	"context"

	"usher/tools"
	"usher/ucan"
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

func (d driver) Answered(ctx context.Context, owner ucan.DID, approval string) (bool, error) {
	return d.approvals.Answered(ctx, owner, approval)
}

// asked is who answers for persons; nobody where nothing is written.
func (v *Venue) asked() tools.Approvals {
	if v.readOnly {
		return nil
	}
	return v.approvals
}
