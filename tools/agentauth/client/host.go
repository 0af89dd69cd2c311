package client

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Host is the program whose agents they are, by its key at one server.
type Host struct {
	*Server
	key ed25519.PrivateKey
}

// Host returns the program as the server knows it by a key.
func (s *Server) Host(key ed25519.PrivateKey) *Host { return &Host{s, key} }

// Agent returns an agent of the host, by its id at the server and its key.
func (h *Host) Agent(id string, key ed25519.PrivateKey) *Agent {
	return &Agent{ID: id, host: h, key: key}
}

// Register asks for an agent with a key of its own. Where a person has to approve, the
// answer says how, and [Host.Await] waits for it.
func (h *Host) Register(ctx context.Context, key ed25519.PublicKey, r *Registration) (*Standing, error) {
	claims := map[string]any{"agent_public_key": PublicJWK(key)}
	if r.HostName != "" {
		claims["host_name"] = r.HostName
	}
	return send[Standing](ctx, h.Server, func() (string, error) { return h.Token(claims) }, "register", r)
}

func (h *Host) token() (string, error) { return h.Token(nil) }

// byID names an agent, and the key that it gets.
type byID struct {
	AgentID   string `json:"agent_id,omitempty"`
	PublicKey *JWK   `json:"public_key,omitempty"`
}

// Status asks how an agent of the host stands.
func (h *Host) Status(ctx context.Context, agent string) (*Standing, error) {
	return look[Standing](ctx, h.Server, h.token, "status", url.Values{"agent_id": {agent}})
}

// Await asks for the status of an agent, with every between, until the agent is not pending
// any more and neither is a grant of the capabilities. An agent that comes to no good end is
// an error beside its status.
func (h *Host) Await(ctx context.Context, agent string, every time.Duration, capabilities ...string) (*Standing, error) {
	for {
		if err := rest(ctx, every); err != nil {
			return nil, err
		}
		st, err := h.Status(ctx, agent)
		if slow, ok := errors.AsType[*Refusal](err); ok && (slow.Code == "slow_down" || slow.Code == "rate_limited") {
			every = max(every+defaultEvery, slow.Pause) // RFC 8628, 3.5
			continue
		}
		if err != nil {
			return nil, err
		}
		switch st.Status {
		case Revoked, Rejected, Expired:
			return st, fmt.Errorf("agent %s is %s", agent, st.Status)
		case Pending:
			continue
		}
		if !st.waits(capabilities) {
			return st, nil
		}
	}
}

// waits reports whether a person has not decided on one of the capabilities.
func (s *Standing) waits(capabilities []string) bool {
	for _, name := range capabilities {
		for _, g := range s.Grants {
			if g.Capability == name && g.Status == Pending {
				return true
			}
		}
	}
	return false
}

// Reactivate brings an agent back that has expired, with what its host has by default.
func (h *Host) Reactivate(ctx context.Context, agent string) (*Standing, error) {
	return send[Standing](ctx, h.Server, h.token, "reactivate", byID{AgentID: agent})
}

// Revoke ends an agent for good.
func (h *Host) Revoke(ctx context.Context, agent string) (*Standing, error) {
	return send[Standing](ctx, h.Server, h.token, "revoke", byID{AgentID: agent})
}

// RotateAgent gives an agent another key; the old one ends at once.
func (h *Host) RotateAgent(ctx context.Context, agent string, key ed25519.PublicKey) (*Standing, error) {
	jwk := PublicJWK(key)
	return send[Standing](ctx, h.Server, h.token, "rotate_key", byID{AgentID: agent, PublicKey: &jwk})
}

// Rotate gives the host another key, and returns the host as it is known by it.
func (h *Host) Rotate(ctx context.Context, key ed25519.PrivateKey) (*Host, error) {
	jwk := PublicJWK(Public(key))
	if _, err := send[Standing](ctx, h.Server, h.token, "rotate_host_key", byID{PublicKey: &jwk}); err != nil {
		return nil, err
	}
	return h.Host(key), nil
}
