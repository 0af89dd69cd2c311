package visitors

import (
	"cmp"
	"context"

	"usher/tools"
	"usher/tools/agentauth/client"
)

// Offers lists what a caller may see, nil being somebody without a JWT, in the order of the
// configuration. What is executed elsewhere has no schemas.
func (r *Room) Offers(ctx context.Context, by *Caller) (list []client.Capability, err error) {
	s, agent := r.set.Load(), by != nil && by.Agent != nil
	if agent {
		if err := r.hear(ctx, by); err != nil {
			return nil, err
		}
	}
	for i := range s.Capabilities {
		c := &s.Capabilities[i]
		if !c.Public && (by == nil || !agent && (by.Host.Status != Active || by.Host.User.IsZero())) {
			continue
		}
		o := client.Capability{Name: c.Name, Description: c.Description, Location: c.Location, Strength: c.Approval}
		if op := r.operation(ctx, by, c.Operation); op != nil {
			o.Description = cmp.Or(o.Description, op.Description())
			o.Input, o.Output = op.InputSchema(), op.OutputSchema()
		}
		if agent {
			o.GrantStatus = statusText(r.best(ctx, by.Agent, c.Name))
		}
		list = append(list, o)
	}
	return list, nil
}

// statusText is what an agent is told of the status of its best grant.
func statusText(best Status) string {
	switch best {
	case Active:
		return "granted"
	case Pending:
		return "pending"
	}
	return "not_granted"
}

// operation is what a capability's operation means to whom a caller acts for; nil where that
// is not known.
func (r *Room) operation(ctx context.Context, by *Caller, ref string) *tools.Operation {
	who := r.set.Load().owner
	if by != nil && !by.Host.User.IsZero() {
		who = by.Host.User
	}
	if by != nil && by.Agent != nil && !by.Agent.User.IsZero() {
		who = by.Agent.User
	}
	op, err := r.Resolve(ctx, r.Mint.User(who), ref)
	if err != nil {
		return nil
	}
	return op
}

// best is the status of an agent's grants of a capability: the one that lets it do most.
func (r *Room) best(ctx context.Context, a *Agent, name string) (best Status) {
	for i := range a.Grants {
		g := &a.Grants[i]
		if g.Capability != name {
			continue
		}
		switch status := r.GrantStatus(ctx, a, g); {
		case status == Active:
			return Active
		case status == Pending || best == "":
			best = status
		}
	}
	return best
}
