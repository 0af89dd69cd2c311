package venue

import (
	"context"
	"fmt"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/schema"
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
	if err := s.check(ctx, call, &spec); err != nil {
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
	if parent := src.Config.Parent; changes.Parent == "" && parent != "" && !call.Caps().Check(agents.Below(parent)).Allowed() {
		spec.Parent = "" // a copy is paid for by whoever makes it, not by others unasked
	}
	if err := s.check(ctx, call, &spec); err != nil {
		return agents.Created{}, err
	}
	all, principal := s.v.agents.effective(from), src.principal(from.key)
	inherits := all.SeenBy(call.Owner().String(), principal.String())
	if history {
		// Its past holds what it could read, also before a giver was narrowed.
		if err := s.atMost(call, source, src.Caps, principal); err != nil {
			return agents.Created{}, err
		}
	}
	created, rec, err := s.put(ctx, call, spec, overwrite, inherits)
	if err != nil {
		return agents.Created{}, err
	}
	if history && (created.Created || created.Updated) {
		key := keyOf(call, spec.ID)
		if err := s.v.runs.Sessions().Copy(ctx, bound{from.key, src.Life}.name(), bound{key, rec.Life}.name()); err != nil {
			return agents.Created{}, err
		}
		if err := s.v.accounts.CopySessions(ctx, src.account(from.key).name(), rec.account(key).name()); err != nil {
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
	if err := s.atMost(call, spec.ID, set, call.Owner()); err != nil {
		return out, nil, err
	}
	if s.v.keys.Independent(call.Owner()).Agent() == spec.ID {
		return out, nil, fmt.Errorf("%s is the agent whose namespace this is: choose another id", spec.ID)
	}
	// In memory, so that nothing waits for it while its record is replaced.
	if _, err := s.v.agents.get(ctx, key); err != nil {
		return out, nil, err
	}
	var past *record // the one whose place is taken
	rec, err := s.v.agents.change(ctx, call, key, func(old *record) (*record, error) {
		out.Created, out.Updated, past = old == nil || old.Status == agents.Terminated, false, nil
		if old != nil && !overwrite {
			out.Created = false
			return old, nil
		}
		now := s.v.now().UnixMilli()
		rec := &record{Status: agents.Sleeping, Life: life, Config: bare(spec), Created: now, Updated: now}
		if old != nil {
			// Replacing an agent takes over its place.
			if err := s.atMost(call, spec.ID, old.Caps, old.principal(key)); err != nil {
				return nil, err
			}
			// Another principal is another agent: what it began ends.
			out.Updated = !out.Created && (old.DID != "") == (spec.Identity == agents.IdentityOwn)
			if out.Updated {
				rec.Life, rec.Created, rec.Account = old.Life, old.Created, old.Account
				rec.Status = old.Status // one that is suspended is resumed, not replaced
			} else {
				out.Created, past = true, old
			}
			if call.Actor() != "" {
				rec.Givers = old.Givers // who bounded the one before bounds this one
				rec.Account = old.account(key).life
			}
		}
		if err := s.setBudgets(ctx, call, key, old, rec); err != nil {
			return nil, err
		}
		rec.Givers = addGivers(rec.Givers, call, key)
		if err := s.addParent(ctx, rec, key, spec.Parent); err != nil {
			return nil, err
		}
		if spec.Identity == agents.IdentityOwn {
			own, err := s.v.keys.Agent(ctx, bound{key, rec.Life}.name())
			if err != nil {
				return nil, err
			}
			rec.DID = own.String()
		}
		rec.Caps = held(spec, set, rec.principal(key), call.Owner())
		return rec, nil
	})
	if err != nil {
		return out, nil, err
	}
	if past != nil {
		if err := s.v.bury(ctx, key, past, rec.account(key)); err != nil {
			return out, nil, err
		}
	}
	s.v.newLimits(key, rec)
	out.Status = rec.Status
	return out, rec, nil
}

func (s agentService) Update(ctx context.Context, call tools.Call, changes agents.Spec) (agents.State, error) {
	key := keyOf(call, changes.ID)
	self, _, err := s.find(ctx, call, changes.ID)
	if err != nil {
		return agents.State{}, err
	}
	now := s.v.agents.effective(self)
	rec, err := s.v.agents.change(ctx, call, key, func(old *record) (*record, error) {
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
		if err := s.setBudgets(ctx, call, key, old, &next); err != nil {
			return nil, err
		}
		if err := s.atMost(call, changes.ID, after, principal); err != nil {
			return nil, err
		}
		if err := s.addParent(ctx, &next, key, changes.Parent); err != nil {
			return nil, err
		}
		return &next, s.check(ctx, call, &next.Config)
	})
	if err != nil {
		return agents.State{}, err
	}
	s.v.newLimits(key, rec)
	return agents.State{AgentID: changes.ID, Status: s.v.status(key, rec)}, nil
}

// maxCaps bounds the capabilities that an agent is given: two agents can have
// the product of their numbers in common.
const maxCaps = 256

// check says what is wrong with a spec in this venue.
func (s agentService) check(ctx context.Context, call tools.Call, spec *agents.Spec) error {
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
		if _, err := schema.Compile(ctx, spec.Output, call.ChargeSchema); err != nil {
			return fmt.Errorf("output schema of agent %s: %w", spec.ID, err)
		}
	}
	for _, ref := range spec.Tools {
		if !strings.Contains(ref, ":") {
			// Below o/ things may be made later, and are not everybody's to know.
			continue
		}
		_, err := s.v.toolsOf(ctx, call.Authority(), ref)
		if err != nil {
			return fmt.Errorf("tools of agent %s: %w", spec.ID, err)
		}
	}
	return nil
}
