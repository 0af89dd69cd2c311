package visitors

import (
	"context"
	"slices"
	"strings"

	"usher/tools"
	"usher/tools/spend"
)

// IsPaidByOwner reports whether a call comes, through whomever, of an agent that nobody has
// approved: the budget of all of them bounds it. One that is not found any more counts as such.
func (r *Room) IsPaidByOwner(ctx context.Context, auth tools.Authority) (bool, error) {
	for _, actor := range slices.Concat(auth.Via(), []string{auth.Actor()}) {
		id, is := strings.CutPrefix(actor, lifeMark)
		if !is {
			continue
		}
		a, _, err := r.agent(ctx, id)
		if err != nil || a == nil || a.Mode == Autonomous {
			return true, err
		}
	}
	return false, nil
}

// Budget is what the configuration lets models use for agents that nobody has approved.
func (r *Room) Budget() spend.Limits {
	if of := r.set.Load().Autonomous; of != nil {
		return of.Budget
	}
	return spend.Limits{}
}
