package agents

import (
	"context"
	"encoding/json"
	"iter"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/venue/runs"
)

// Agent is one agent of a principal, in the hands of that principal.
type Agent struct {
	room  *Room
	key   key
	auth  tools.Authority             // of the principal
	valid func(context.Context) error // says why the principal is none any more
}

// Agent returns the agent of the id that whoever auth is owns. valid is asked
// before anything is done through it.
func (r *Room) Agent(ctx context.Context, auth tools.Authority, valid func(context.Context) error, id string) (*Agent, error) {
	a := &Agent{r, key{auth.Owner(), id}, auth, valid}
	if _, _, err := a.find(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Agent) find(ctx context.Context) (*entry, *record, error) {
	if err := a.valid(ctx); err != nil {
		return nil, nil, err
	}
	return a.room.find(ctx, a.key)
}

// ID is the agent's id.
func (a *Agent) ID() string { return a.key.id }

// Chat says something to the agent in its main session, which goes on from
// turn to turn, and yields what happens. It starts a run, follows it, and stops
// it when the caller leaves. A turn that fails ends with its error, after a
// [runtime.TurnEnd] that carries it too. See [runtime.Runner.Turn].
func (a *Agent) Chat(ctx context.Context, text string) iter.Seq2[runtime.Event, error] {
	return a.ChatIn(ctx, mainSession, text)
}

// ChatIn is [Agent.Chat] in a session of the given id, made on first use;
// empty is a new one.
func (a *Agent) ChatIn(ctx context.Context, session, text string) iter.Seq2[runtime.Event, error] {
	return func(yield func(runtime.Event, error) bool) {
		r, err := a.start(ctx, session, text, true)
		if err != nil {
			yield(nil, err)
			return
		}
		defer context.AfterFunc(ctx, func() { r.Stop(context.Cause(ctx)) })()
		here := context.WithoutCancel(ctx) // a turn that is stopped says how it ended
		for e, err := range r.Events(here, 0) {
			if err != nil || !yield(e.Event, nil) {
				r.Stop(runtime.ErrStopped)
				_, _ = r.Wait(here) // nothing of it happens any more
				return
			}
		}
		if _, err := r.Wait(here); err != nil {
			yield(nil, err)
		}
	}
}

// Start says something to the agent in a session, made on first use; empty is a
// new one. The turn goes on whoever follows it: see [runs.Run.Events].
func (a *Agent) Start(ctx context.Context, session, text string) (*runs.Run, error) {
	return a.start(ctx, session, text, false)
}

func (a *Agent) start(ctx context.Context, session, text string, followed bool) (*runs.Run, error) {
	e, rec, err := a.find(ctx)
	if err != nil {
		return nil, err
	}
	c, err := a.room.converse(ctx, e, rec, a.auth, "", session, false)
	if err != nil {
		return nil, err
	}
	c.say = runtime.Say{From: a.key.owner.String(), Text: text}
	return a.room.start(ctx, a.auth, runs.Spec{Kind: runs.Turn, Followed: followed}, c, func(err error) error { return err })
}

// Brief returns what the agent's model is told now, beside the conversation:
// the system message with the disclosure, and the tools on offer. What it reads
// for that is charged to the budgets of the agent and of its main session.
func (a *Agent) Brief(ctx context.Context) (runtime.Briefing, error) {
	e, rec, err := a.find(ctx)
	if err != nil {
		return runtime.Briefing{}, err
	}
	if rec.Status != agents.Sleeping {
		return runtime.Briefing{}, errNoWork(a.key.id, rec)
	}
	actor, err := a.room.actor(ctx, e, rec, a.auth)
	if err != nil {
		return runtime.Briefing{}, err
	}
	if ctx, err = a.room.withTurnBudgets(ctx, a.key, mainSession, nil); err != nil {
		return runtime.Briefing{}, err
	}
	return a.room.Runner.Brief(ctx, actor)
}

// Info describes the agent.
func (a *Agent) Info(ctx context.Context) (info agents.Info, err error) {
	if err := a.valid(ctx); err != nil {
		return info, err
	}
	input, _ := json.Marshal(map[string]string{"agentId": a.ID()}) // of text
	res, err := a.room.Gate.Invoke(ctx, a.auth, tools.Invocation{Operation: "agent:info", Input: input})
	if err != nil {
		return info, err
	}
	return info, json.Unmarshal(res.Output, &info)
}

// IsOver reports whether the agent has ended, and takes no work any more.
func (a *Agent) IsOver() bool {
	e := a.room.Book.find(a.key)
	if e == nil {
		return true
	}
	rec := e.rec.Load()
	return rec == nil || rec.Status == agents.Terminated
}
