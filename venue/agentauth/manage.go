package agentauth

import (
	"encoding/json"
	"time"

	"usher/venue/visitors"
)

// agentID names an agent.
type agentID struct {
	ID string `json:"agent_id"`
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
	return c.told(a, c.face.room.Standing(a, h))
}

func (c *call) told(a *visitors.Agent, status visitors.Status) map[string]any {
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
func (c *call) approvalOf(out map[string]any, r *visitors.Registered) map[string]any {
	if a := r.Approval; a != nil {
		if a.UserCode != "" {
			a.VerificationAt = c.issuer + pagePath
			a.VerifyWhole = a.VerificationAt + "?agent_id=" + r.Agent.ID + "&code=" + a.UserCode
		}
		out["approval"] = a
	}
	return out
}

func (c *call) register() (err error) {
	var in visitors.Registration
	if err := c.into(&in); err != nil {
		return err
	}
	var out *visitors.Registered
	if c.by, out, err = c.face.room.Register(c.ctx(), c.request(), in); err != nil {
		return err
	}
	return c.ok(c.approvalOf(c.standing(out.Agent, out.Host), out))
}

func (c *call) ask() error {
	var in visitors.Asking
	if err := c.into(&in); err != nil {
		return err
	}
	if err := c.agent(); err != nil {
		return err
	}
	out, err := c.face.room.Ask(c.ctx(), c.by, in)
	if err != nil {
		return err
	}
	asked := func(g *visitors.Grant) bool { return g.Status == visitors.Pending }
	return c.ok(c.approvalOf(map[string]any{
		"agent_id": out.Agent.ID, "status": visitors.Pending, "agent_capability_grants": c.grants(out.Agent, asked),
	}, out))
}

func (c *call) status() error {
	if err := c.caller(); err != nil {
		return err
	}
	out, err := c.face.room.Status(c.ctx(), c.by, c.r.URL.Query().Get("agent_id"))
	if err != nil {
		return err
	}
	return c.ok(c.standing(out.Agent, out.Host))
}

func (c *call) reactivate() error {
	var in agentID
	if err := c.into(&in); err != nil {
		return err
	}
	if err := c.caller(); err != nil {
		return err
	}
	out, err := c.face.room.Reactivate(c.ctx(), c.by, in.ID)
	if err != nil {
		return err
	}
	return c.ok(c.approvalOf(c.standing(out.Agent, out.Host), out))
}

func (c *call) claim() error {
	var in struct {
		agentID
		visitors.Asking
	}
	if err := c.into(&in); err != nil {
		return err
	}
	if err := c.caller(); err != nil {
		return err
	}
	out, err := c.face.room.Claim(c.ctx(), c.by, in.ID, in.Asking)
	if err != nil {
		return err
	}
	return c.ok(c.approvalOf(c.standing(out.Agent, out.Host), out))
}

// newCode answers with another code alone (RFC 8628, 3.2).
func (c *call) newCode() error {
	var in agentID
	if err := c.into(&in); err != nil {
		return err
	}
	if err := c.caller(); err != nil {
		return err
	}
	out, err := c.face.room.NewCode(c.ctx(), c.by, in.ID)
	if err != nil {
		return err
	}
	c.approvalOf(map[string]any{}, out)
	return c.ok(out.Approval)
}

func (c *call) revoke() error {
	var in agentID
	if err := c.into(&in); err != nil {
		return err
	}
	person, err := c.whoOrPerson()
	if err != nil {
		return err
	}
	a, err := c.face.room.Revoke(c.ctx(), c.by, person, in.ID)
	if err != nil {
		return err
	}
	return c.ok(map[string]any{"agent_id": a.ID, "status": visitors.Revoked})
}

func (c *call) revokeGrants() error {
	var in struct {
		agentID
		Capabilities []string `json:"capabilities"`
	}
	if err := c.into(&in); err != nil {
		return err
	}
	person, err := c.whoOrPerson()
	if err != nil {
		return err
	}
	a, n, err := c.face.room.RevokeGrants(c.ctx(), c.by, person, in.ID, in.Capabilities)
	if err != nil {
		return err
	}
	return c.ok(map[string]any{"agent_id": a.ID, "revoked": n, "agent_capability_grants": c.grants(a, nil)})
}

// keyInput is another key.
type keyInput struct {
	agentID
	Key json.RawMessage `json:"public_key"`
}

func (c *call) rotateAgent() error {
	var in keyInput
	if err := c.into(&in); err != nil {
		return err
	}
	if err := c.caller(); err != nil {
		return err
	}
	out, err := c.face.room.RotateAgent(c.ctx(), c.by, in.ID, in.Key)
	if err != nil {
		return err
	}
	return c.ok(map[string]any{"agent_id": out.Agent.ID, "status": c.face.room.Standing(out.Agent, out.Host)})
}

func (c *call) rotateHost() error {
	var in keyInput
	if err := c.into(&in); err != nil {
		return err
	}
	if err := c.caller(); err != nil {
		return err
	}
	h, err := c.face.room.RotateHost(c.ctx(), c.by, in.Key)
	if err != nil {
		return err
	}
	return c.ok(map[string]any{"host_id": h.ID, "status": h.Status})
}

func (c *call) revokeHost() error {
	var in struct {
		ID string `json:"host_id"`
	}
	if err := c.into(&in); err != nil {
		return err
	}
	person, err := c.whoOrPerson()
	if err != nil {
		return err
	}
	h, n, err := c.face.room.RevokeHost(c.ctx(), c.by, person, in.ID)
	if err != nil {
		return err
	}
	return c.ok(map[string]any{"host_id": h.ID, "status": h.Status, "agents_revoked": n})
}
