package agentauth

import (
	"usher/ucan"
	"usher/venue/visitors"
)

// listAgents tells a person of the agents that act for them, as [call.standing] does: of one
// host_id, or all.
func (c *call) listAgents() error {
	return answerPage(c, "agents", func(who ucan.DID, after string) ([]visitors.AgentView, string, error) {
		return c.face.room.Agents(c.ctx(), who, c.r.URL.Query().Get("host_id"), after)
	}, func(l *visitors.AgentView) map[string]any {
		out := c.agentView(l.Agent, l.Status)
		out["host_name"] = l.HostName
		return out
	})
}

// listHosts tells a person of the hosts that act for them.
func (c *call) listHosts() error {
	return answerPage(c, "hosts", func(who ucan.DID, after string) ([]visitors.Host, string, error) {
		return c.face.room.Hosts(c.ctx(), who, after)
	}, func(h *visitors.Host) map[string]any {
		out := map[string]any{"host_id": h.ID, "name": h.Name, "status": h.Status, "user_id": nil, "created_at": stamp(h.Created), "updated_at": stamp(h.Updated)}
		if !h.User.IsZero() {
			out["user_id"] = h.User
		}
		return out
	})
}

// answerPage answers with a page: of what the person may end, and nothing else.
func answerPage[T any](c *call, name string, page func(who ucan.DID, after string) ([]T, string, error), shape func(*T) map[string]any) error {
	who, err := c.inPerson()
	if err != nil {
		return err
	}
	list, next, err := page(who.DID, c.r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i] = shape(&list[i])
	}
	answer := map[string]any{name: out, "has_more": next != ""}
	if next != "" {
		answer["next_cursor"] = next
	}
	return c.ok(answer)
}
