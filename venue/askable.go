package venue

import (
	"context"

	"usher/caps"
	"usher/tools/agents"
)

// Bounds of [Principal.Askable] and [Principal.Readable].
const (
	maxAskable = 256  // agents that it returns
	maxAskedOf = 1000 // that it looks at
)

// Askable lists the agents that the principal may message: 256 at most, of the first 1000
// by their ids. What an agent is for is told to who may read the agent.
func (p *Principal) Askable(ctx context.Context) ([]agents.Summary, error) {
	return p.within(ctx, "agent/message")
}

// Taskable lists the agents that the principal may give tasks, as [Principal.Askable] lists.
func (p *Principal) Taskable(ctx context.Context) ([]agents.Summary, error) {
	return p.within(ctx, "agent/request")
}

// Readable lists the agents that the principal may read, as [Principal.Askable] lists.
func (p *Principal) Readable(ctx context.Context) ([]agents.Summary, error) {
	return p.within(ctx, "agent/read")
}

func (p *Principal) within(ctx context.Context, can string) ([]agents.Summary, error) {
	set, err := p.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	if !set.CouldAllow(caps.ScopeUnder(can, "g", 1, 1)) {
		return nil, nil
	}
	page, err := p.agents.Page(ctx, p.DID(), agents.Query{Limit: maxAskedOf})
	if err != nil {
		return nil, err
	}
	var list []agents.Summary
	for _, a := range page.Agents {
		at := "g/" + a.AgentID
		if !set.CouldAllow(caps.ScopeExactly(can, at)) {
			continue
		}
		if !set.CouldAllow(caps.ScopeExactly("agent/read", at)) {
			a.Description = ""
		}
		if list = append(list, a); len(list) == maxAskable {
			break
		}
	}
	return list, nil
}
