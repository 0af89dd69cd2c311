package venue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
)

func (s agentService) Delete(ctx context.Context, call tools.Call, id string, remove bool) (agents.Deleted, error) {
	key := keyOf(call, id)
	if remove {
		if err := s.noChildren(ctx, call, id); err != nil {
			return agents.Deleted{}, err
		}
	}
	var past *record
	_, err := s.v.agents.change(ctx, call, key, func(old *record) (*record, error) {
		if old == nil {
			return nil, &NoAgentError{id}
		}
		past = old
		if remove {
			return nil, s.mayRemove(ctx, call, key, old)
		}
		next := *old
		next.Status, next.Updated = agents.Terminated, s.v.now().UnixMilli()
		return &next, nil
	})
	if err != nil {
		return agents.Deleted{}, err
	}
	if remove {
		if err := s.v.bury(ctx, key, past, bound{}); err != nil {
			return agents.Deleted{}, err
		}
	}
	return agents.Deleted{AgentID: id, Status: agents.Terminated, Removed: remove}, nil
}

// bury removes what is left of one life of an agent: its sessions, what was
// spent, but where that is counted on in the account kept, and of an independent
// one its key, with all that it had delegated.
func (v *Venue) bury(ctx context.Context, key agentKey, past *record, kept bound) error {
	if account := past.account(key); account != kept {
		if err := v.accounts.Remove(ctx, account.name()); err != nil {
			return err
		}
	}
	of := bound{key, past.Life}
	if past.DID != "" {
		if err := v.retire(ctx, of.name(), past.principal(key)); err != nil {
			return err
		}
	}
	return v.runs.Sessions().Remove(ctx, of.name())
}

// noChildren keeps the record of an agent that others have their capabilities
// from: without it they would hold nothing, silently.
func (s agentService) noChildren(ctx context.Context, call tools.Call, id string) error {
	var children []string
	key := keyOf(call, id)
	count := func(child string, rec *record) error {
		if slices.ContainsFunc(rec.Givers, func(b string) bool { return parseBound(b).key == key }) {
			children = append(children, child)
		}
		return nil
	}
	err := s.v.agents.list(ctx, call.Owner(), count)
	// An independent agent keeps its children in a namespace of its own.
	if _, rec, found := s.find(ctx, call, id); err == nil && found == nil && rec.DID != "" {
		err = s.v.agents.list(ctx, rec.principal(key), count)
	}
	if err != nil || len(children) == 0 {
		return err
	}
	if !call.Caps().Check(caps.Need("agent/read", "g")).Allowed() {
		children = []string{fmt.Sprintf("%d others", len(children))}
	}
	return fmt.Errorf("agent %s gave capabilities to %s: delete those first, or delete it without remove", id, strings.Join(children, ", "))
}

func (s agentService) SetSuspended(ctx context.Context, call tools.Call, id string, suspended bool) (agents.State, error) {
	rec, err := s.v.agents.change(ctx, call, keyOf(call, id), func(old *record) (*record, error) {
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

// Adopt lets what others made stand below the owner alone. What it may do stays
// what it was given.
func (s agentService) Adopt(ctx context.Context, call tools.Call, id string, program caps.Resource) (agents.Adopted, error) {
	if call.Actor() != "" || !call.Authority().Bound().IsZero() {
		return agents.Adopted{}, errAdopt
	}
	if id == "" {
		return agents.Adopted{Path: program.String(), Adopted: true}, s.v.tree.Adopt(ctx, call.Owner(), program)
	}
	_, err := s.v.agents.change(ctx, call, keyOf(call, id), func(old *record) (*record, error) {
		if old == nil {
			return nil, &NoAgentError{id}
		}
		next := *old
		next.Givers, next.Updated = nil, s.v.now().UnixMilli()
		next.Config.Parent = ""
		return &next, nil
	})
	return agents.Adopted{AgentID: id, Adopted: err == nil}, err
}

var errAdopt = fault.New(fault.Refused, "only the owner in person adopts: an agent that did could take what it made out of its own bounds")

func (s agentService) Info(ctx context.Context, call tools.Call, id string) (agents.Info, error) {
	a, rec, err := s.find(ctx, call, id)
	if err != nil {
		return agents.Info{}, err
	}
	sessions, inbox, err := s.v.countSessions(ctx, bound{a.key, rec.Life})
	if err != nil {
		return agents.Info{}, err
	}
	known := func(key agentKey) bool { return mayKnow(call, key) }
	budgets, spent, err := s.v.budgetsOf(ctx, a, known)
	if err != nil {
		return agents.Info{}, err
	}
	config := rec.Config
	if config.Parent != "" && !known(keyOf(call, config.Parent)) {
		config.Parent = ""
	}
	config.Caps = caps.Declare(rec.Caps)
	return agents.Info{
		AgentID: id, Status: s.v.status(a.key, rec), DID: rec.principal(a.key).String(), Config: config, Caps: s.v.agents.effective(a),
		Budgets: budgets, Spent: spent,
		Creators: creators(rec, known), Sessions: sessions, Inbox: inbox, Created: rec.Created, Updated: rec.Updated,
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
