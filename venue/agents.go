package venue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/schema"
	"usher/ucan"
)

// agentService answers the agent operations. The gate has checked the ability
// on the agent, and that the caller holds what a config hands on; what needs
// the records to decide is decided here.
type agentService struct{ v *Venue }

var _ agents.Service = agentService{}

// NoAgentError says that a user has no agent of an id.
type NoAgentError struct{ ID string }

func (e *NoAgentError) Error() string { return fmt.Sprintf("there is no agent %q", e.ID) }

func keyOf(call tools.Call, id string) agentKey { return agentKey{call.Owner(), id} }

// find returns the record of the caller's agent.
func (s agentService) find(ctx context.Context, call tools.Call, id string) (*agent, *record, error) {
	a, err := s.v.agents.get(ctx, keyOf(call, id))
	if err != nil {
		return nil, nil, err
	}
	if a == nil {
		return nil, nil, &NoAgentError{id}
	}
	rec := a.rec.Load()
	if rec == nil {
		return nil, nil, &NoAgentError{id}
	}
	return a, rec, nil
}

func (s agentService) Create(ctx context.Context, call tools.Call, spec agents.Spec, overwrite bool) (agents.Created, error) {
	if err := s.check(ctx, call.Owner(), &spec); err != nil {
		return agents.Created{}, err
	}
	return s.put(ctx, call, spec, overwrite, func() (caps.Set, error) { return given(spec, call.Caps()), nil })
}

func (s agentService) Fork(ctx context.Context, call tools.Call, source string, changes agents.Spec, history, overwrite bool) (agents.Created, error) {
	from, src, err := s.find(ctx, call, source)
	if err != nil {
		return agents.Created{}, err
	}
	if source == changes.ID {
		return agents.Created{}, fmt.Errorf("an agent cannot be forked onto itself: give agentId another id than %s", source)
	}
	spec := merge(src.Config, changes)
	spec.ID = changes.ID
	if err := s.check(ctx, call.Owner(), &spec); err != nil {
		return agents.Created{}, err
	}
	inherits := s.v.agents.effective(keyOf(call, source))
	created, err := s.put(ctx, call, spec, overwrite, func() (caps.Set, error) {
		set := given(spec, inherits)
		return set, s.atMost(call, spec.ID, set)
	})
	if err != nil {
		return agents.Created{}, err
	}
	if history {
		if err := s.v.copySessions(ctx, from.key, keyOf(call, spec.ID)); err != nil {
			return agents.Created{}, err
		}
	}
	created.ForkedFrom = source
	return created, nil
}

// put creates the agent's record, or replaces it where overwrite says so.
func (s agentService) put(ctx context.Context, call tools.Call, spec agents.Spec, overwrite bool, capsOf func() (caps.Set, error)) (agents.Created, error) {
	out := agents.Created{AgentID: spec.ID}
	rec, err := s.v.agents.change(ctx, keyOf(call, spec.ID), func(old *record) (*record, error) {
		out.Created, out.Updated = old == nil || old.Status == agents.Terminated, false
		if old != nil && !overwrite {
			out.Created = false
			return old, nil
		}
		if old != nil {
			// Replacing an agent takes over its place and its past.
			if err := s.atMost(call, spec.ID, old.Caps); err != nil {
				return nil, err
			}
			out.Updated = !out.Created
		}
		set, err := capsOf()
		if err != nil {
			return nil, err
		}
		now := s.v.now().UnixMilli()
		rec := &record{Status: agents.Sleeping, Config: bare(spec), Created: now, Updated: now}
		if call.Actor() != "" && out.Updated {
			rec.Givers = old.Givers
		}
		rec.Givers = s.givers(call, spec.ID, rec.Givers)
		if spec.Parent != "" && !slices.Contains(rec.Givers, spec.Parent) {
			rec.Givers = append(slices.Clone(rec.Givers), spec.Parent)
		}
		if spec.Identity == agents.IdentityOwn {
			own, err := s.v.keys.key(ctx, agentPrefix+keyOf(call, spec.ID).String())
			if err != nil {
				return nil, err
			}
			rec.DID = own.DID().String()
		}
		rec.Caps = set.In(rec.principal(keyOf(call, spec.ID)).String())
		return rec, nil
	})
	if err != nil {
		return agents.Created{}, err
	}
	out.Status = rec.Status
	return out, nil
}

func (s agentService) Update(ctx context.Context, call tools.Call, changes agents.Spec) (agents.State, error) {
	rec, err := s.v.agents.change(ctx, keyOf(call, changes.ID), func(old *record) (*record, error) {
		if old == nil {
			return nil, &NoAgentError{changes.ID}
		}
		if old.Status == agents.Terminated {
			return nil, fmt.Errorf("agent %s is TERMINATED: create it again with overwrite", changes.ID)
		}
		if changes.Identity != "" && changes.Identity != either(old.Config.Identity, agents.IdentityOwner) {
			return nil, fmt.Errorf("agent %s: who an agent acts as cannot change: create another one", changes.ID)
		}
		next := *old
		next.Config = bare(merge(old.Config, changes))
		next.Updated = s.v.now().UnixMilli()
		if changes.Caps.Present() {
			next.Caps = given(changes, call.Caps()).In(old.principal(keyOf(call, changes.ID)).String())
			next.Givers = s.givers(call, changes.ID, old.Givers)
		}
		// Whoever writes an agent's prompt speaks through it: an agent cannot
		// do so with another that may do more than itself.
		if changes.Caps.Present() || call.Actor() != changes.ID {
			if err := s.atMost(call, changes.ID, next.Caps); err != nil {
				return nil, err
			}
		}
		return &next, s.check(ctx, call.Owner(), &next.Config)
	})
	if err != nil {
		return agents.State{}, err
	}
	return agents.State{AgentID: changes.ID, Status: s.v.status(keyOf(call, changes.ID), rec)}, nil
}

// given is what a spec gives the agent: what it says, or else what the giver
// passes on.
func given(spec agents.Spec, otherwise caps.Set) caps.Set {
	if set, listed := spec.Caps.Set(); listed {
		return set
	}
	return otherwise
}

// atMost refuses a capability set beyond the caller's own, naming what the
// caller lacks first.
func (s agentService) atMost(call tools.Call, agent string, set caps.Set) error {
	held := call.Caps()
	if held.Covers(set) {
		return nil
	}
	denial := &caps.Denial{
		Operation: call.Operation(), Ability: "*", Capabilities: held,
		Why: fmt.Sprintf("Agent %s would hold more than you do, and an agent can hand on at most what it holds itself.", agent),
	}
	if missing := held.Missing(set); len(missing) > 0 {
		denial.Ability, denial.Resource = missing[0].Can(), missing[0].Resource().String()
	}
	return denial
}

// givers adds the calling agent to those that an agent has its capabilities
// from. The owner in person bounds nothing.
func (s agentService) givers(call tools.Call, id string, old []string) []string {
	actor := call.Actor()
	if actor == "" {
		return old
	}
	// An independent agent keeps house in its own namespace, and its own record
	// is in another.
	if key, independent := s.v.keys.agent(call.Owner()); independent && key.id == actor {
		actor = key.String()
	} else if actor == id {
		return old
	}
	if slices.Contains(old, actor) {
		return old
	}
	return append(slices.Clone(old), actor)
}

func (s agentService) Delete(ctx context.Context, call tools.Call, id string, remove bool) (agents.Deleted, error) {
	key := keyOf(call, id)
	if remove {
		if err := s.noChildren(ctx, call.Owner(), id); err != nil {
			return agents.Deleted{}, err
		}
	}
	var did ucan.DID // of an independent agent
	_, err := s.v.agents.change(ctx, key, func(old *record) (*record, error) {
		if old == nil {
			return nil, &NoAgentError{id}
		}
		if old.DID != "" {
			did = old.principal(key)
		}
		if remove {
			return nil, nil
		}
		next := *old
		next.Status, next.Updated = agents.Terminated, s.v.now().UnixMilli()
		return &next, nil
	})
	if err != nil {
		return agents.Deleted{}, err
	}
	if remove {
		if err := s.v.removeSessions(ctx, key); err != nil {
			return agents.Deleted{}, err
		}
		if !did.IsZero() {
			if err := s.v.keys.forget(ctx, agentPrefix+key.String(), did); err != nil {
				return agents.Deleted{}, err
			}
		}
	}
	return agents.Deleted{AgentID: id, Status: agents.Terminated, Removed: remove}, nil
}

// noChildren keeps the record of an agent that others have their capabilities
// from: without it they would hold nothing, silently.
func (s agentService) noChildren(ctx context.Context, owner ucan.DID, id string) error {
	var children []string
	err := s.v.agents.list(ctx, owner, func(child string, rec *record) error {
		if child != id && slices.Contains(rec.Givers, id) {
			children = append(children, child)
		}
		return nil
	})
	if err == nil && len(children) > 0 {
		return fmt.Errorf("agent %s gave capabilities to %s: delete those first, or delete it without remove", id, strings.Join(children, ", "))
	}
	return err
}

func (s agentService) SetSuspended(ctx context.Context, call tools.Call, id string, suspended bool) (agents.State, error) {
	rec, err := s.v.agents.change(ctx, keyOf(call, id), func(old *record) (*record, error) {
		switch {
		case old == nil:
			return nil, &NoAgentError{id}
		case old.Status == agents.Terminated:
			return nil, fmt.Errorf("agent %s is TERMINATED", id)
		}
		next := *old
		next.Status, next.Updated = agents.Sleeping, s.v.now().UnixMilli()
		if suspended {
			next.Status = agents.Suspended
		}
		return &next, nil
	})
	if err != nil {
		return agents.State{}, err
	}
	return agents.State{AgentID: id, Status: s.v.status(keyOf(call, id), rec)}, nil
}

func (s agentService) Info(ctx context.Context, call tools.Call, id string) (agents.Info, error) {
	a, rec, err := s.find(ctx, call, id)
	if err != nil {
		return agents.Info{}, err
	}
	sessions, inbox, err := s.v.countSessions(ctx, a.key)
	if err != nil {
		return agents.Info{}, err
	}
	config := rec.Config
	config.Caps = caps.Declare(rec.Caps)
	return agents.Info{
		AgentID: id, Status: s.v.status(a.key, rec), DID: rec.principal(a.key).String(), Config: config, Caps: s.v.agents.effective(a.key),
		Creators: rec.Givers, Sessions: sessions, Inbox: inbox, Created: rec.Created, Updated: rec.Updated,
	}, nil
}

func (s agentService) List(ctx context.Context, call tools.Call, terminated bool) ([]agents.Summary, error) {
	out := []agents.Summary{}
	err := s.v.agents.list(ctx, call.Owner(), func(id string, rec *record) error {
		if rec.Status != agents.Terminated || terminated {
			out = append(out, agents.Summary{AgentID: id, Status: s.v.status(keyOf(call, id), rec), Description: rec.Config.Description})
		}
		return nil
	})
	return out, err
}

// check says what is wrong with a spec in this venue.
func (s agentService) check(ctx context.Context, owner ucan.DID, spec *agents.Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if _, err := s.v.model(spec); err != nil {
		return err
	}
	if len(spec.Output) > 0 {
		if _, err := schema.Compile(spec.Output); err != nil {
			return fmt.Errorf("output schema of agent %s: %w", spec.ID, err)
		}
	}
	for _, ref := range spec.Tools {
		_, err := s.v.toolsOf(ctx, owner, ref)
		var missing *tools.NotFoundError
		if errors.As(err, &missing) && strings.HasPrefix(ref, "o/") {
			continue // may be made later
		}
		if err != nil {
			return fmt.Errorf("tools of agent %s: %w", spec.ID, err)
		}
	}
	return nil
}

// bare is the spec as it is kept: capabilities stand apart.
func bare(spec agents.Spec) agents.Spec {
	spec.Caps = caps.Declared{}
	return spec
}

// merge returns the config with what changes says in its place.
func merge(base, changes agents.Spec) agents.Spec {
	out := base
	out.Caps = changes.Caps
	out.Description = either(changes.Description, base.Description)
	out.Model = either(changes.Model, base.Model)
	out.Prompt = either(changes.Prompt, base.Prompt)
	out.Authority = either(changes.Authority, base.Authority)
	out.Identity = either(changes.Identity, base.Identity)
	out.Parent = either(changes.Parent, base.Parent)
	if changes.Tools != nil {
		out.Tools = changes.Tools
	}
	if changes.Context != nil {
		out.Context = changes.Context
	}
	if changes.Output != nil {
		out.Output = changes.Output
	}
	return out
}
