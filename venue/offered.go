package venue

import (
	"context"

	"usher/tools/agents"
	room "usher/venue/agents"
)

// Offer is what an agent can do for a principal, as things are now.
type Offer struct {
	*room.Offer
	Within []agents.Summary // agents that it may ask
}

// Offer returns what an agent can do for the principal, who may read it: that is agent:info.
func (p *Principal) Offer(ctx context.Context, agent string) (*Offer, error) {
	if err := p.may(ctx, "agent:info", agents.Ref{AgentID: agent}); err != nil {
		return nil, err
	}
	o, err := p.agents.Offer(ctx, p.auth, agent)
	if err != nil {
		return nil, err
	}
	as := *p
	as.auth = o.Authority
	out := &Offer{Offer: o}
	asked, err := as.within(ctx, "agent/request")
	if err != nil {
		return nil, err
	}
	for _, a := range asked {
		if a.AgentID != agent {
			out.Within = append(out.Within, a)
		}
	}
	return out, nil
}
