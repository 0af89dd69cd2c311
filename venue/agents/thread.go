package agents

import (
	"context"

	"usher/venue/runs"
)

// Tail is the number of the event of a session behind which the last ones lie: see
// [runs.Sessions.Tail].
func (a *Agent) Tail(ctx context.Context, session string, most, size int) (uint64, error) {
	of, err := a.life(ctx)
	if err != nil {
		return 0, err
	}
	return a.room.Runs.Sessions().Tail(ctx, of, session, most, size)
}

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
