package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/schema"
	"usher/ucan"
	"usher/venue/runs"
)

// errNoTurn: a run is a turn that its session does not have.
var errNoTurn = errors.New("its turn is not in the session any more")

// errOver is why a run does not go on whose agent has ended.
func errOver(id string) error { return fmt.Errorf("agent %s has ended", id) }

// lives reports whether a record is of a life that goes on; nil is of none.
func (r *record) lives(k key, of tools.Life) bool {
	return r != nil && r.life(k) == of && r.Status != agents.Terminated
}

// IsGone reports whether a life of an agent has ended.
func (r *Room) IsGone(ctx context.Context, of tools.Life) (bool, error) {
	k := keyOf(of)
	_, rec, err := r.Book.get(ctx, k)
	return err == nil && !rec.lives(k, of), err
}

// IsSuspended reports whether an agent of the owner's is suspended.
func (r *Room) IsSuspended(ctx context.Context, owner ucan.DID, id string) (bool, error) {
	_, rec, err := r.Book.get(ctx, key{owner, id})
	return rec != nil && rec.Status == agents.Suspended, err
}

// conclude ends what rests of the turns and tasks of a life of an agent that has ended.
func (r *Room) conclude(ctx context.Context, k key, past *record) error {
	return r.Runs.EndAll(context.WithoutCancel(ctx), k.owner, past.life(k), errOver(k.id))
}

// GoOn is the work of a turn or a task that goes on, for whoever auth is, with its
// session. Where the session has no turn of it yet, it begins one.
func (r *Room) GoOn(ctx context.Context, rec *runs.Record, auth tools.Authority) (_ runs.Work, _ *runs.Session, undo func(), err error) {
	k := keyOf(rec.Of)
	e, agent, err := r.Book.get(ctx, k)
	if err != nil {
		return nil, nil, nil, err
	}
	if !agent.lives(k, rec.Of) {
		return nil, nil, nil, errOver(k.id)
	}
	if agent.Status == agents.Suspended {
		return nil, nil, nil, &tools.WaitError{Agent: k.id}
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
	c := &conversation{entry: e, actor: actor, session: session, release: release, form: len(rec.Schema) > 0}
	tell := func(err error) error { return err }
	actor.Task = rec.Op == requestPath
	if rec.Kind == runs.Task {
		tell = teller(speaker(auth), k.id)
		c.say.From = caller(auth)
		if err = sayOf(rec.Op, rec.Input, &c.say); err != nil {
			release()
			return nil, nil, nil, err
		}
	}
	if run, rests := session.Rest(); rests && run == rec.ID {
		actor.Authority.Meter().AtLeast(session.Meter())
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
