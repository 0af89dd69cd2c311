package venue

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/tools"
	"usher/tools/agents"
	"usher/ucan"
	room "usher/venue/agents"
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
	return u.v.agents.Agent(ctx, u.auth, id)
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
func (u *User) Job(ctx context.Context, id string) (runs.Record, error) {
	return u.v.runs.Find(ctx, u.DID(), id)
}

// Agent is one agent of a user.
type Agent = room.Agent

// NoAgentError says that a user has no agent of an id.
type NoAgentError = room.NoAgentError
