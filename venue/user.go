package venue

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/ucan"
	"usher/venue/runs"
)

// User is a principal of the venue with a namespace of its own. What is done
// through it is done in person: unrestricted within that namespace, and
// through the gate all the same.
type User struct {
	v    *Venue
	name string
	auth tools.Authority
}

// User returns the user of the name, who is made on first use.
func (v *Venue) User(ctx context.Context, name string) (*User, error) {
	did, err := v.keys.User(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	return &User{v: v, name: name, auth: v.mint.User(did)}, nil
}

// DID is the user's identity, a did:key.
func (u *User) DID() ucan.DID { return u.auth.Owner() }

// Name is the name that the user was opened by.
func (u *User) Name() string { return u.name }

// Invoke runs an operation for the user. input is anything that encodes to a
// JSON object; the result is JSON.
func (u *User) Invoke(ctx context.Context, operation string, input any) (json.RawMessage, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("encode input of %s: %w", operation, err)
	}
	res, err := u.v.gate.Invoke(ctx, u.auth, tools.Invocation{Operation: operation, Input: raw})
	return res.Output, err
}

// CreateAgent creates an agent. An id that is taken is an error.
func (u *User) CreateAgent(ctx context.Context, spec agents.Spec) (*Agent, error) {
	created, err := u.put(ctx, spec, false)
	if err != nil {
		return nil, err
	}
	if !created.Created {
		return nil, fmt.Errorf("create agent %s: it exists; change it with agent:update", spec.ID)
	}
	return u.Agent(ctx, spec.ID)
}

func (u *User) put(ctx context.Context, spec agents.Spec, overwrite bool) (agents.Created, error) {
	var created agents.Created
	out, err := u.Invoke(ctx, "agent:create", map[string]any{"agentId": spec.ID, "config": spec, "overwrite": overwrite})
	if err != nil {
		return created, err
	}
	return created, json.Unmarshal(out, &created)
}

// Agent returns the user's agent of the id.
func (u *User) Agent(ctx context.Context, id string) (*Agent, error) {
	a, err := u.v.agents.get(ctx, agentKey{u.DID(), id})
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, &NoAgentError{id}
	}
	return &Agent{user: u, agent: a}, nil
}

// Agents lists the user's agents, those that have ended left out.
func (u *User) Agents(ctx context.Context) ([]agents.Summary, error) {
	out, err := u.Invoke(ctx, "agent:list", struct{}{})
	if err != nil {
		return nil, err
	}
	var list struct{ Agents []agents.Summary }
	return list.Agents, json.Unmarshal(out, &list)
}

// SetSecret keeps a secret of the user under a name, in place of one that is
// there. It is secret:set: models whose configuration says secret:NAME for the
// user who owns it use it from their next call on.
func (u *User) SetSecret(ctx context.Context, name, value string) error {
	_, err := u.Invoke(ctx, "secret:set", map[string]string{"name": name, "value": value})
	return err
}

// Job returns the record of a job of the user.
func (u *User) Job(ctx context.Context, id string) (Job, error) {
	return u.v.runs.Find(ctx, u.DID(), id)
}

// Agent is one agent of a user.
type Agent struct {
	user  *User
	agent *agent
}

// ID is the agent's id.
func (a *Agent) ID() string { return a.agent.key.id }

// Chat says something to the agent in its main session, which goes on from
// turn to turn, and yields what happens. It starts a run, follows it, and stops
// it when the caller leaves. A turn that fails ends with its error, after a
// [runtime.TurnFinished] that carries it too. See [runtime.Runner.Turn].
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
	v := a.user.v
	actor, err := v.actor(ctx, a.agent, a.user.auth)
	if err != nil {
		return nil, err
	}
	of, err := a.life()
	if err != nil {
		return nil, err
	}
	s, release, err := v.session(ctx, of, "", session, false)
	if err != nil {
		return nil, err
	}
	turn := v.turn(conversation{a.agent, actor, s, runtime.Say{From: a.user.DID().String(), Text: text}})
	r, err := v.runs.Start(ctx, a.user.auth, runs.Spec{Kind: runs.Turn, Agent: a.ID(), Session: s, Followed: followed}, func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		defer release()
		return turn(ctx, r)
	})
	if err != nil {
		release()
	}
	return r, err
}

// Brief returns what the agent's model is told now, beside the conversation:
// the system message with the disclosure, and the tools on offer. What it reads
// for that is charged to the budgets of the agent and of its main session.
func (a *Agent) Brief(ctx context.Context) (runtime.Briefing, error) {
	v := a.user.v
	actor, err := v.actor(ctx, a.agent, a.user.auth)
	if err != nil {
		return runtime.Briefing{}, err
	}
	if ctx, err = v.bounded(ctx, a.agent, mainSession); err != nil {
		return runtime.Briefing{}, err
	}
	return v.runner.Brief(ctx, actor)
}

// Info describes the agent.
func (a *Agent) Info(ctx context.Context) (agents.Info, error) {
	var info agents.Info
	out, err := a.user.Invoke(ctx, "agent:info", map[string]string{"agentId": a.ID()})
	if err != nil {
		return info, err
	}
	return info, json.Unmarshal(out, &info)
}
