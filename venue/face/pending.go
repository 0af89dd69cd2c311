package face

import (
	"context"
	"encoding/json"

	"usher/tools/approvals"
	"usher/venue"
)

// Bounds of a look for what a job waits for.
const (
	maxPending = 100 // requests
	maxAbove   = 16  // runs
)

// OpenRequests are the requests for approvals that a job waits for, itself or what it began, as
// far as the caller may look at them.
func OpenRequests(ctx context.Context, p *venue.Principal, job string) (list []approvals.Request, err error) {
	in := approvals.Query{Limit: maxPending}
	ruling, err := p.Decide(ctx, "approval:list", in)
	if err != nil || ruling.Denial() != nil {
		return nil, nil //nolint:nilerr // others are asked
	}
	raw, err := p.Invoke(ctx, "approval:list", in)
	if err != nil {
		return nil, err
	}
	var page approvals.Listing
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, err
	}
	parents := make(map[string]string)
	for _, req := range page.Requests {
		if req.Status == approvals.Pending && below(ctx, p, parents, req.Run, job) {
			list = append(list, req)
		}
	}
	return list, nil
}

// below reports whether a run is the job or came of it. parents are those of the runs that
// were looked at: each look is a call.
func below(ctx context.Context, p *venue.Principal, parents map[string]string, run, job string) bool {
	for range maxAbove {
		if run == job || run == "" {
			return run == job
		}
		above, known := parents[run]
		if !known {
			if rec, err := p.Run(ctx, run); err == nil {
				above = rec.Parent
			}
			parents[run] = above
		}
		run = above
	}
	return false
}
