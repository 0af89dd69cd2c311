package client

import (
	"context"
	"crypto/ed25519"
)

// Agent is an agent of a host at a server.
type Agent struct {
	ID   string
	host *Host
	key  ed25519.PrivateKey
}

// ask sends a body with an agent JWT.
func (a *Agent) ask(ctx context.Context, endpoint string, body, into any) error {
	token, err := a.Token("")
	if err != nil {
		return err
	}
	return a.host.post(ctx, endpoint, token, body, into)
}

// Status asks how the agent itself stands.
func (a *Agent) Status(ctx context.Context) (*Standing, error) {
	token, err := a.Token("")
	if err != nil {
		return nil, err
	}
	out := new(Standing)
	return out, a.host.look(ctx, "status", token, nil, out)
}

// Capabilities lists what the agent may ask for, each with how its grant stands.
func (a *Agent) Capabilities(ctx context.Context, q Query) (*Page, error) {
	token, err := a.Token("")
	if err != nil {
		return nil, err
	}
	return a.host.list(ctx, token, q)
}

// Describe returns one capability with its schemas, and how its grant stands.
func (a *Agent) Describe(ctx context.Context, name string) (*Capability, error) {
	token, err := a.Token("")
	if err != nil {
		return nil, err
	}
	return a.host.describe(ctx, token, name)
}

// Request asks for more capabilities, which a person approves: see [Host.Await].
func (a *Agent) Request(ctx context.Context, e *Escalation) (*Standing, error) {
	out := new(Standing)
	return out, a.ask(ctx, "request_capability", e, out)
}

// Revoke ends the agent for good.
func (a *Agent) Revoke(ctx context.Context) (*Standing, error) {
	out := new(Standing)
	return out, a.ask(ctx, "revoke", struct{}{}, out)
}

// RevokeCapability gives capabilities back.
func (a *Agent) RevokeCapability(ctx context.Context, names ...string) error {
	return a.ask(ctx, "revoke_capability", map[string]any{"agent_id": a.ID, "capabilities": names}, nil)
}
