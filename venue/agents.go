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
	created, _, err := s.put(ctx, call, spec, overwrite, call.Caps())
	return created, err
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
	inherits := s.v.agents.effective(from).SeenBy(call.Owner().String(), src.principal(from.key).String())
	if history {
		// Its past holds what it could read.
		if err := s.atMost(call, source, inherits); err != nil {
			return agents.Created{}, err
		}
	}
	created, rec, err := s.put(ctx, call, spec, overwrite, inherits)
	if err != nil {
		return agents.Created{}, err
	}
	if history && (created.Created || created.Updated) {
		if err := s.v.copySessions(ctx, bound{from.key, src.Life}, bound{keyOf(call, spec.ID), rec.Life}); err != nil {
			return agents.Created{}, err
		}
	}
	created.ForkedFrom = source
	return created, nil
}

// put creates the agent's record, or replaces it where overwrite says so. What
// the spec does not list it has from otherwise.
func (s agentService) put(ctx context.Context, call tools.Call, spec agents.Spec, overwrite bool, otherwise caps.Set) (agents.Created, *record, error) {
	out := agents.Created{AgentID: spec.ID}
	key := keyOf(call, spec.ID)
	life, err := s.v.newID()
	if err != nil {
		return out, nil, err
	}
	set := given(spec, otherwise)
	if err := s.atMost(call, spec.ID, set); err != nil {
		return out, nil, err
	}
	var past bound // whose sessions are nobody's any more
	rec, err := s.v.agents.change(ctx, key, func(old *record) (*record, error) {
		out.Created, out.Updated, past = old == nil || old.Status == agents.Terminated, false, bound{}
		if old != nil && !overwrite {
			out.Created = false
			return old, nil
		}
		now := s.v.now().UnixMilli()
		rec := &record{Status: agents.Sleeping, Life: life, Config: bare(spec), Created: now, Updated: now}
		if old != nil {
			// Replacing an agent takes over its place.
			if err := s.atMost(call, spec.ID, old.Caps.SeenBy(call.Owner().String(), old.principal(key).String())); err != nil {
				return nil, err
			}
			if out.Updated = !out.Created; out.Updated {
				rec.Life, rec.Created = old.Life, old.Created
			} else {
				past = bound{key, old.Life}
			}
			if call.Actor() != "" {
				rec.Givers = old.Givers // who bounded the one before bounds this one
			}
		}
		rec.Givers = addGivers(rec.Givers, call, key)
		if err := s.addParent(ctx, rec, key, spec.Parent); err != nil {
			return nil, err
		}
		if spec.Identity == agents.IdentityOwn {
			own, err := s.v.keys.key(ctx, agentPrefix+key.String())
			if err != nil {
				return nil, err
			}
			rec.DID = own.DID().String()
		}
		rec.Caps = held(spec, set, rec.principal(key), call.Owner())
		return rec, nil
	})
	if err != nil {
		return out, nil, err
	}
	if past != (bound{}) {
		if err := s.v.removeSessions(ctx, past); err != nil {
			return out, nil, err
		}
	}
	out.Status = rec.Status
	return out, rec, nil
}

// held is a set as the agent's principal writes it. What a spec lists is
// written by that principal already; what is passed on, by the giver.
func held(spec agents.Spec, set caps.Set, principal, giver ucan.DID) caps.Set {
	if _, listed := spec.Caps.Set(); listed {
		return set.In(principal.String())
	}
	return set.SeenBy(principal.String(), giver.String())
}

// addGivers adds those who bound the call to those that an agent has its
// capabilities from. The owner in person bounds nothing, nor does the agent
// itself.
func addGivers(givers []string, call tools.Call, key agentKey) []string {
	givers = slices.Clone(givers)
	for _, b := range call.Authority().Bounds() {
		if parseBound(b).key != key && !slices.Contains(givers, b) {
			givers = append(givers, b)
		}
	}
	return givers
}

// addParent lets another agent bound the record, which only narrows it.
func (s agentService) addParent(ctx context.Context, rec *record, key agentKey, parent string) error {
	if parent == "" || parent == key.id {
		return nil
	}
	a, err := s.v.agents.get(ctx, agentKey{key.owner, parent})
	if err != nil {
		return err
	}
	if a == nil {
		return fmt.Errorf("parent of agent %s: %w", key.id, &NoAgentError{parent})
	}
	giver := a.rec.Load()
	if giver == nil {
		return fmt.Errorf("parent of agent %s: %w", key.id, &NoAgentError{parent})
	}
	if b := (bound{a.key, giver.Life}).String(); !slices.Contains(rec.Givers, b) {
		rec.Givers = append(slices.Clone(rec.Givers), b)
	}
	return nil
}

func (s agentService) Update(ctx context.Context, call tools.Call, changes agents.Spec) (agents.State, error) {
	key := keyOf(call, changes.ID)
	self, _, err := s.find(ctx, call, changes.ID)
	if err != nil {
		return agents.State{}, err
	}
	now := s.v.agents.effective(self)
	rec, err := s.v.agents.change(ctx, key, func(old *record) (*record, error) {
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
		principal := old.principal(key)
		// Whoever writes an agent's prompt speaks through it: an agent cannot
		// do so with one that may do more than itself. Of itself it changes
		// what it may do now, when it does not act for somebody narrower.
		after := old.Caps
		if call.Actor() == changes.ID {
			after = now
		}
		if changes.Caps.Present() {
			next.Caps = held(changes, given(changes, call.Caps()), principal, call.Owner())
			next.Givers = addGivers(old.Givers, call, key)
			after = next.Caps
		}
		if err := s.atMost(call, changes.ID, after.SeenBy(call.Owner().String(), principal.String())); err != nil {
			return nil, err
		}
		if err := s.addParent(ctx, &next, key, changes.Parent); err != nil {
			return nil, err
		}
		return &next, s.check(ctx, call.Owner(), &next.Config)
	})
	if err != nil {
		return agents.State{}, err
	}
	return agents.State{AgentID: changes.ID, Status: s.v.status(key, rec)}, nil
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
// caller lacks first, where it may know.
func (s agentService) atMost(call tools.Call, agent string, set caps.Set) error {
	mine := call.Caps()
	if mine.Covers(set) {
		return nil
	}
	denial := &caps.Denial{
		Operation: call.Operation(), Ability: "*", Capabilities: mine,
		Why: fmt.Sprintf("Agent %s would hold more than you do, and an agent can hand on at most what it holds itself.", agent),
	}
	known := mine.Check(caps.Need("agent/read", "g/"+agent)).Allowed()
	if missing := mine.Missing(set); known && len(missing) > 0 {
		denial.Ability, denial.Resource = missing[0].Can(), missing[0].Resource().String()
	}
	return denial
}

func (s agentService) Delete(ctx context.Context, call tools.Call, id string, remove bool) (agents.Deleted, error) {
	key := keyOf(call, id)
	if remove {
		if err := s.noChildren(ctx, call, id); err != nil {
			return agents.Deleted{}, err
		}
	}
	var did ucan.DID // of an independent agent
	var past bound
	_, err := s.v.agents.change(ctx, key, func(old *record) (*record, error) {
		if old == nil {
			return nil, &NoAgentError{id}
		}
		if past = (bound{key, old.Life}); old.DID != "" {
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
		if err := s.v.removeSessions(ctx, past); err != nil {
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
func (s agentService) noChildren(ctx context.Context, call tools.Call, id string) error {
	var children []string
	key := keyOf(call, id)
	err := s.v.agents.list(ctx, call.Owner(), func(child string, rec *record) error {
		if child != id && slices.ContainsFunc(rec.Givers, func(b string) bool { return parseBound(b).key == key }) {
			children = append(children, child)
		}
		return nil
	})
	if err != nil || len(children) == 0 {
		return err
	}
	if !call.Caps().Check(caps.Need("agent/read", "g")).Allowed() {
		children = []string{fmt.Sprintf("%d others", len(children))}
	}
	return fmt.Errorf("agent %s gave capabilities to %s: delete those first, or delete it without remove", id, strings.Join(children, ", "))
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
	sessions, inbox, err := s.v.countSessions(ctx, bound{a.key, rec.Life})
	if err != nil {
		return agents.Info{}, err
	}
	config := rec.Config
	config.Caps = caps.Declare(rec.Caps)
	return agents.Info{
		AgentID: id, Status: s.v.status(a.key, rec), DID: rec.principal(a.key).String(), Config: config, Caps: s.v.agents.effective(a),
		Creators: creators(rec), Sessions: sessions, Inbox: inbox, Created: rec.Created, Updated: rec.Updated,
	}, nil
}

// creators are the ids of those that an agent has its capabilities from.
func creators(rec *record) []string {
	var ids []string
	for _, b := range rec.Givers {
		ids = append(ids, parseBound(b).key.id)
	}
	return ids
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

// maxCaps bounds the capabilities that an agent is given: two agents can have
// the product of their numbers in common.
const maxCaps = 256

// check says what is wrong with a spec in this venue.
func (s agentService) check(ctx context.Context, owner ucan.DID, spec *agents.Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if set, _ := spec.Caps.Set(); set.Len() > maxCaps {
		return fmt.Errorf("agent %s: %d capabilities, at most %d: give wider ones, or several agents", spec.ID, set.Len(), maxCaps)
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
