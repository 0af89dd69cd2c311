package agentauth

import (
	"encoding/json"
	"time"

	"usher/ucan"
	"usher/venue/visitors"
)

// ref is which agent or host a request is about, and its next key.
type ref struct {
	Agent string          `json:"agent_id"`
	Host  string          `json:"host_id"`
	Key   json.RawMessage `json:"public_key"`
}

func stamp(ms int64) any {
	if ms == 0 {
		return nil
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

// grants are those of an agent as it is told of them.
func (c *call) grants(a *visitors.Agent, only func(*visitors.Grant) bool) []map[string]any {
	list := []map[string]any{}
	s := c.face.room.Settings()
	for i := range a.Grants {
		g := &a.Grants[i]
		if only != nil && !only(g) {
			continue
		}
		out := map[string]any{
			"capability": g.Capability, "status": c.face.room.GrantStatus(c.ctx(), a, g), "created_at": stamp(g.Created), "updated_at": stamp(g.Updated),
		}
		if !g.Constraints.IsZero() {
			out["constraints"] = g.Constraints
		}
		if g.Reason != "" {
			out["reason"] = g.Reason
		}
		if !g.By.IsZero() {
			out["granted_by"] = g.By
		}
		if g.Expires > 0 {
			out["expires_at"] = stamp(g.Expires * 1000)
		}
		if one := s.Capability(g.Capability); one != nil && one.Description != "" {
			out["description"] = one.Description
		}
		list = append(list, out)
	}
	return list
}

// standing is an agent after a call, in the shape of status.
func (c *call) standing(a *visitors.Agent, h *visitors.Host) map[string]any {
	return c.agentView(a, c.face.room.Standing(a, h))
}

func (c *call) agentView(a *visitors.Agent, status visitors.Status) map[string]any {
	out := map[string]any{
		"agent_id": a.ID, "host_id": a.Host, "name": a.Name, "mode": a.Mode, "status": status,
		"agent_capability_grants": c.grants(a, nil), "user_id": nil, "created_at": stamp(a.Created), "activated_at": stamp(a.Activated),
		"last_used_at": stamp(a.Seen), "expires_at": nil,
	}
	if !a.User.IsZero() {
		out["user_id"] = a.User
	}
	if a.Status == visitors.Active {
		out["expires_at"] = c.face.room.Expires(a).UTC().Format(time.RFC3339)
	}
	return out
}

// approvalOf adds to an answer how a person is asked.
func (c *call) approvalOf(out map[string]any, r *visitors.RegisterResult) map[string]any {
	if a := r.Approval; a != nil {
		if a.UserCode != "" {
			a.VerificationAt = c.issuer + pagePath
			a.VerifyWhole = a.VerificationAt + "?agent_id=" + r.Agent.ID + "&code=" + a.UserCode
		}
		out["approval"] = a
	}
	return out
}

// registration tells of an agent, and how a person is asked.
func (c *call) registration(r *visitors.RegisterResult, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return c.approvalOf(c.standing(r.Agent, r.Host), r), nil
}

// manages answers a request of whom by finds, once the body is read: with what do returns.
func manages[In any](by func(*call) (person ucan.DID, err error), do func(c *call, in In, person ucan.DID) (any, error)) func(*call) error {
	return func(c *call) error {
		var in In
		if err := c.into(&in); err != nil {
			return err
		}
		person, err := by(c)
		if err != nil {
			return err
		}
		out, err := do(c, in, person)
		if err != nil {
			return err
		}
		return c.ok(out)
	}
}

// Who calls: whom the room finds, an agent, or a host or an agent.
func anybody(*call) (ucan.DID, error)     { return ucan.DID{}, nil }
func byAgent(c *call) (ucan.DID, error)   { return ucan.DID{}, c.agent() }
func byVisitor(c *call) (ucan.DID, error) { return ucan.DID{}, c.caller() }

func register(c *call, in visitors.Registration, _ ucan.DID) (any, error) {
	by, out, err := c.face.room.Register(c.ctx(), c.request(), in)
	c.by = by
	return c.registration(out, err)
}

func ask(c *call, in visitors.Petition, _ ucan.DID) (any, error) {
	out, err := c.face.room.Ask(c.ctx(), c.by, in)
	if err != nil {
		return nil, err
	}
	asked := func(g *visitors.Grant) bool { return g.Status == visitors.Pending }
	return c.approvalOf(map[string]any{
		"agent_id": out.Agent.ID, "status": visitors.Pending, "agent_capability_grants": c.grants(out.Agent, asked),
	}, out), nil
}

func status(c *call, _ struct{}, _ ucan.DID) (any, error) {
	out, err := c.face.room.Status(c.ctx(), c.by, c.r.URL.Query().Get("agent_id"))
	if err != nil {
		return nil, err
	}
	return c.standing(out.Agent, out.Host), nil
}

func reactivate(c *call, in ref, _ ucan.DID) (any, error) {
	return c.registration(c.face.room.Reactivate(c.ctx(), c.by, in.Agent))
}

// claimRequest is what a host asks that has a person take it over.
type claimRequest struct {
	Agent string `json:"agent_id"`
	visitors.Petition
}

func claim(c *call, in claimRequest, _ ucan.DID) (any, error) {
	return c.registration(c.face.room.Claim(c.ctx(), c.by, in.Agent, in.Petition))
}

// newCode answers with another code alone (RFC 8628, 3.2).
func newCode(c *call, in ref, _ ucan.DID) (any, error) {
	out, err := c.face.room.NewCode(c.ctx(), c.by, in.Agent)
	if err != nil {
		return nil, err
	}
	c.approvalOf(map[string]any{}, out)
	return out.Approval, nil
}

func revoke(c *call, in ref, person ucan.DID) (any, error) {
	a, err := c.face.room.Revoke(c.ctx(), c.by, person, in.Agent)
	if err != nil {
		return nil, err
	}
	return map[string]any{"agent_id": a.ID, "status": visitors.Revoked}, nil
}

// grantsToEnd are grants of an agent that end.
type grantsToEnd struct {
	ref
	Capabilities []string `json:"capabilities"`
}

func revokeGrants(c *call, in grantsToEnd, person ucan.DID) (any, error) {
	a, n, err := c.face.room.RevokeGrants(c.ctx(), c.by, person, in.Agent, in.Capabilities)
	if err != nil {
		return nil, err
	}
	return map[string]any{"agent_id": a.ID, "revoked": n, "agent_capability_grants": c.grants(a, nil)}, nil
}

func rotateAgent(c *call, in ref, _ ucan.DID) (any, error) {
	out, err := c.face.room.RotateAgent(c.ctx(), c.by, in.Agent, in.Key)
	if err != nil {
		return nil, err
	}
	return map[string]any{"agent_id": out.Agent.ID, "status": c.face.room.Standing(out.Agent, out.Host)}, nil
}

func rotateHost(c *call, in ref, _ ucan.DID) (any, error) {
	h, err := c.face.room.RotateHost(c.ctx(), c.by, in.Key)
	if err != nil {
		return nil, err
	}
	return map[string]any{"host_id": h.ID, "status": h.Status}, nil
}

func revokeHost(c *call, in ref, person ucan.DID) (any, error) {
	h, n, err := c.face.room.RevokeHost(c.ctx(), c.by, person, in.Host)
	if err != nil {
		return nil, err
	}
	return map[string]any{"host_id": h.ID, "status": h.Status, "agents_revoked": n}, nil
}
