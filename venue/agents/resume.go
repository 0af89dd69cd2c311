package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/schema"
	"usher/venue/runs"
)

// errNoTurn: a run is a turn that its session does not have.
var errNoTurn = errors.New("its turn is not in the session any more")

// GoOn is the work of a turn or a task that goes on, for whoever auth is, with its
// session. Where the session has no turn of it yet, it begins one.
func (r *Room) GoOn(ctx context.Context, rec *runs.Record, auth tools.Authority) (_ runs.Work, _ *runs.Session, undo func(), err error) {
	k := keyOf(rec.Of)
	e, agent, err := r.find(ctx, k)
	if err != nil {
		return nil, nil, nil, err
	}
	if agent.life(k) != rec.Of || agent.Status == agents.Terminated {
		return nil, nil, nil, fmt.Errorf("agent %s has ended", k.id)
	}
	actor, err := r.actor(ctx, e, agent, auth)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(rec.Schema) > 0 {
		if actor.Output, err = schema.Compile(ctx, rec.Schema, auth.Meter().ChargeSchema); err != nil {
			return nil, nil, nil, err
		}
	}
	session, release, err := r.Runs.Sessions().Open(ctx, rec.Of, rec.Session, false)
	if err != nil {
		return nil, nil, nil, err
	}
	c := &conversation{entry: e, actor: actor, session: session, release: release}
	tell := func(err error) error { return err }
	actor.Task = rec.Op == requestPath
	if rec.Kind == runs.Task {
		tell = toldTo(rec.Caller, k.id)
		c.say.From = cmp.Or(rec.Caller, auth.Owner().String())
		if c.say.Text, err = taskText(rec.Input); err != nil {
			release()
			return nil, nil, nil, err
		}
	}
	if run, rests := session.Resting(); rests && run == rec.ID {
		c.resumes = session.Claim()
	}
	if rec.Kind == runs.Turn && !c.resumes {
		release()
		return nil, nil, nil, errNoTurn
	}
	undo = func() {
		if c.resumes {
			session.Release()
		}
		release()
	}
	return func(ctx context.Context, run *runs.Run) (json.RawMessage, error) {
		defer release()
		output, err := r.turn(ctx, run, c)
		return output, tell(err)
	}, session, undo, nil
}
