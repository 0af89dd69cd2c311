package agents

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/schema"
	"usher/venue/runs"
)

// GoOn is the work of a turn or a task that goes on, for whoever auth is, with its
// session.
func (r *Room) GoOn(ctx context.Context, rec *runs.Record, auth tools.Authority) (runs.Work, *runs.Session, error) {
	k := keyOf(rec.Of)
	e, agent, err := r.find(ctx, k)
	if err != nil {
		return nil, nil, err
	}
	if agent.life(k) != rec.Of || agent.Status == agents.Terminated {
		return nil, nil, fmt.Errorf("agent %s has ended", k.id)
	}
	actor, err := r.actor(ctx, e, agent, auth)
	if err != nil {
		return nil, nil, err
	}
	if len(rec.Schema) > 0 {
		if actor.Output, err = schema.Compile(ctx, rec.Schema, auth.Meter().ChargeSchema); err != nil {
			return nil, nil, err
		}
	}
	session, release, err := r.Runs.Sessions().Open(ctx, rec.Of, rec.Session, true)
	if err != nil {
		return nil, nil, err
	}
	c := &conversation{entry: e, actor: actor, session: session, release: release, resumes: true}
	tell := func(err error) error { return err }
	if rec.Kind == runs.Task {
		tell = toldTo(rec.Caller, k.id)
	}
	return func(ctx context.Context, run *runs.Run) (json.RawMessage, error) {
		defer release()
		output, err := r.turn(ctx, run, c)
		return output, tell(err)
	}, session, nil
}
