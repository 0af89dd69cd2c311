package client

import (
	"context"
	"crypto/ed25519"
	"net/http"
)

// Agent is an agent of a host at a server.
type Agent struct {
	ID   string
	host *Host
	key  ed25519.PrivateKey
}

func (a *Agent) token() (string, error) { return a.Token("") }

// Status asks how the agent itself stands.
func (a *Agent) Status(ctx context.Context) (*Standing, error) {
	return look[Standing](ctx, a.host.Server, a.token, "status", nil)
}

// Capabilities lists what the agent may ask for, each with how its grant stands.
func (a *Agent) Capabilities(ctx context.Context, q Query) (*Page, error) {
	return look[Page](ctx, a.host.Server, a.token, "capabilities", q.values())
}

// Describe returns one capability with its schemas, and how its grant stands.
func (a *Agent) Describe(ctx context.Context, name string) (*Capability, error) {
	return look[Capability](ctx, a.host.Server, a.token, "describe_capability", nameQuery(name))
}

// Request asks for more capabilities, which a person approves: see [Host.Await].
func (a *Agent) Request(ctx context.Context, e *Escalation) (*Standing, error) {
	return send[Standing](ctx, a.host.Server, a.token, "request_capability", e)
}

// Revoke ends the agent for good.
func (a *Agent) Revoke(ctx context.Context) (*Standing, error) {
	return send[Standing](ctx, a.host.Server, a.token, "revoke", struct{}{})
}

// RevokeCapability gives capabilities back.
func (a *Agent) RevokeCapability(ctx context.Context, names ...string) error {
	return a.host.request(ctx, a.token, http.MethodPost, "revoke_capability", "", map[string]any{"agent_id": a.ID, "capabilities": names}, nil)
}
