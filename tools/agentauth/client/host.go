package client

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/url"
	"strconv"
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
	return h.ask(ctx, "register", claims, r)
}

// ask sends a body with a host JWT.
func (h *Host) ask(ctx context.Context, endpoint string, claims map[string]any, body any) (*Standing, error) {
	token, err := h.Token(claims)
	if err != nil {
		return nil, err
	}
	out := new(Standing)
	return out, h.post(ctx, endpoint, token, body, out)
}

// byID names an agent, and the key that it gets.
type byID struct {
	AgentID   string `json:"agent_id,omitempty"`
	PublicKey *JWK   `json:"public_key,omitempty"`
}

// Status asks how an agent of the host stands.
func (h *Host) Status(ctx context.Context, agent string) (*Standing, error) {
	token, err := h.Token(nil)
	if err != nil {
		return nil, err
	}
	out := new(Standing)
	return out, h.look(ctx, "status", token, url.Values{"agent_id": {agent}}, out)
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
	return h.ask(ctx, "reactivate", nil, byID{AgentID: agent})
}

// Revoke ends an agent for good.
func (h *Host) Revoke(ctx context.Context, agent string) (*Standing, error) {
	return h.ask(ctx, "revoke", nil, byID{AgentID: agent})
}

// RotateAgent gives an agent another key; the old one ends at once.
func (h *Host) RotateAgent(ctx context.Context, agent string, key ed25519.PublicKey) (*Standing, error) {
	jwk := PublicJWK(key)
	return h.ask(ctx, "rotate_key", nil, byID{AgentID: agent, PublicKey: &jwk})
}

// Rotate gives the host another key, and returns the host as it is known by it.
func (h *Host) Rotate(ctx context.Context, key ed25519.PrivateKey) (*Host, error) {
	jwk := PublicJWK(public(key))
	if _, err := h.ask(ctx, "rotate_host_key", nil, byID{PublicKey: &jwk}); err != nil {
		return nil, err
	}
	return h.Host(key), nil
}

// Capabilities lists what the host's linked user may have done.
func (h *Host) Capabilities(ctx context.Context, q Query) (*Page, error) {
	token, err := h.Token(nil)
	if err != nil {
		return nil, err
	}
	return h.list(ctx, token, q)
}

// Describe returns one capability with its schemas, as the host's linked user sees it.
func (h *Host) Describe(ctx context.Context, name string) (*Capability, error) {
	token, err := h.Token(nil)
	if err != nil {
		return nil, err
	}
	return h.describe(ctx, token, name)
}

// Capabilities lists what anybody may see.
func (s *Server) Capabilities(ctx context.Context, q Query) (*Page, error) { return s.list(ctx, "", q) }

// Describe returns one capability that anybody may see, with its schemas.
func (s *Server) Describe(ctx context.Context, name string) (*Capability, error) {
	return s.describe(ctx, "", name)
}

func (s *Server) list(ctx context.Context, token string, q Query) (*Page, error) {
	values := url.Values{}
	for key, text := range map[string]string{"query": q.Text, "cursor": q.Cursor} {
		if text != "" {
			values.Set(key, text)
		}
	}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	out := new(Page)
	return out, s.look(ctx, "capabilities", token, values, out)
}

func (s *Server) describe(ctx context.Context, token, name string) (*Capability, error) {
	out := new(Capability)
	return out, s.look(ctx, "describe_capability", token, url.Values{"name": {name}}, out)
}

func (s *Server) look(ctx context.Context, endpoint, token string, values url.Values, into any) error {
	at, err := s.endpoint(endpoint)
	if err != nil {
		return err
	}
	if len(values) > 0 {
		at += "?" + values.Encode()
	}
	return s.get(ctx, at, token, into)
}

// Introspect asks, as a service with a credential of its own, whose a token is.
func (s *Server) Introspect(ctx context.Context, credential, token string) (*Introspection, error) {
	out := new(Introspection)
	return out, s.post(ctx, "introspect", credential, map[string]string{"token": token}, out)
}
