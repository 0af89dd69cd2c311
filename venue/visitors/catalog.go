package visitors

import (
	"context"
	"encoding/json"
	"strings"

	"usher/tools"
	"usher/venue/config"
)

// Offer is a capability as a caller is told of it.
type Offer struct {
	*config.AgentCapability
	Description string
	Input       json.RawMessage // JSON Schema; nil where it is executed elsewhere
	Output      json.RawMessage
	Status      Status // of the agent's best grant; "" where no agent asks
}

// Offers lists what a caller may see, nil being somebody without a JWT, in the order of the
// configuration.
func (r *Room) Offers(ctx context.Context, by *Caller) (list []Offer, err error) {
	s := r.set.Load()
	if by != nil && by.Agent != nil {
		if err := r.heard(ctx, by); err != nil {
			return nil, err
		}
	}
	for i := range s.Capabilities {
		c := &s.Capabilities[i]
		if !c.Public && (by == nil || by.Agent == nil && (by.Host.Status != Active || by.Host.User.IsZero())) {
			continue
		}
		o := Offer{AgentCapability: c, Description: c.Description}
		if op := r.operation(ctx, by, c.Operation); op != nil {
			if o.Description == "" {
				o.Description = op.Description()
			}
			o.Input, o.Output = op.InputSchema(), op.OutputSchema()
		}
		if by != nil && by.Agent != nil {
			o.Status = r.best(ctx, by.Agent, c.Name)
		}
		list = append(list, o)
	}
	return list, nil
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

// Matches reports whether an offer has all words of a query in its name or description.
func (o *Offer) Matches(query string) bool {
	text := strings.ToLower(o.Name + " " + o.Description)
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
