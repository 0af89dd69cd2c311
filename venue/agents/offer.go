package agents

import (
	"context"
	"slices"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
)

// Offer is what an agent can do for a caller, as things are now.
type Offer struct {
	Config     agents.Spec
	Caps       caps.Set           // within which it does it
	Operations []*tools.Operation // that some resource is allowed of
	Model      runtime.Model
	ModelCalls int             // in a turn, at most
	Authority  tools.Authority // of it in a turn for the caller
}

// Offer returns what an agent can do for whoever auth is.
func (r *Room) Offer(ctx context.Context, auth tools.Authority, id string) (*Offer, error) {
	e, rec, err := r.find(ctx, key{auth.Owner(), id})
	if err != nil {
		return nil, err
	}
	if rec.Status != agents.Sleeping {
		return nil, errNoWork(id, rec)
	}
	actor, err := r.actor(ctx, e, rec, auth)
	if err != nil {
		return nil, err
	}
	set := actor.Authority.Caps()
	ops := slices.DeleteFunc(slices.Clone(actor.Tools), func(op *tools.Operation) bool { return !op.CouldAllow(set) })
	return &Offer{Config: rec.Config, Caps: set, Operations: ops, Model: actor.Model, ModelCalls: r.Runner.MaxModelCalls(), Authority: actor.Authority}, nil
}
