package agents

import (
	"context"

	"usher/venue/runs"
)

// Session returns a session of the agent in few words: the owner's, or where opener is an
// agent, that one's. One that is not there is [runs.NoSession].
func (a *Agent) Session(ctx context.Context, opener, id string) (runs.Head, error) {
	id, err := sessionName(a.key.id, opener, id)
	if err != nil {
		return runs.Head{}, err
	}
	if err := checkSession(id); err != nil {
		return runs.Head{}, err
	}
	of, err := a.life(ctx)
	if err != nil {
		return runs.Head{}, err
	}
	head, err := a.room.Runs.Sessions().Head(ctx, of, id)
	if err == nil && head.Seq == 0 {
		err = runs.NoSession(a.key.id, id)
	}
	return head, err
}
