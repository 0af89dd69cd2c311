package agentauth

import "usher/venue/visitors"

// introspect tells a service what an agent's JWT is worth. The service proves itself by its
// own secret, and the JWT works afterwards as before.
func (c *call) introspect() error {
	if err := c.face.room.Service(c.ctx(), bearer(c.r.Header.Get("Authorization"))); err != nil {
		return err
	}
	var in struct {
		Token string `json:"token"`
	}
	if err := c.into(&in); err != nil {
		return err
	}
	req := &visitors.Request{Token: in.Token, Audiences: c.face.audiences(c.r)}
	a, h, err := c.face.room.Introspect(c.ctx(), req)
	if err != nil {
		return c.ok(map[string]any{"active": false})
	}
	s := c.face.room.Settings()
	grants := []map[string]any{}
	for i := range a.Grants {
		g := &a.Grants[i]
		one := map[string]any{"capability": g.Capability, "status": c.face.room.GrantStatus(c.ctx(), a, g)}
		if limits, err := c.face.room.ConstraintsOf(g); err == nil && !limits.IsZero() {
			one["constraints"] = limits
		}
		if named := s.Capability(g.Capability); named != nil && named.Location != "" {
			one["location"] = named.Location
		}
		grants = append(grants, one)
	}
	return c.ok(map[string]any{
		"active": true, "agent_id": a.ID, "host_id": h.ID, "user_id": a.User, "agent_capability_grants": grants, "mode": a.Mode,
		"expires_at": c.face.room.Expires(a).UTC().Format("2006-01-02T15:04:05Z"),
	})
}
