package agents

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/runs"
)

// Delete ends an agent; with remove its record goes too.
func (r *Room) Delete(ctx context.Context, call tools.Call, in agents.Delete) (agents.DeleteResult, error) {
	k := ownKey(call, in.AgentID)
	if in.Remove {
		if err := r.noChildren(ctx, call, in.AgentID); err != nil {
			return agents.DeleteResult{}, err
		}
	}
	var past *record
	_, err := r.revise(ctx, call, k, func(old, next *record) (*record, error) {
		past, next.Status = old, agents.Terminated
		if in.Remove {
			return nil, mayLoosen(call, k, old, nil)
		}
		return next, nil
	})
	if err == nil {
		err = r.conclude(ctx, k, past)
	}
	if err == nil && in.Remove {
		err = r.bury(ctx, k, past, "")
	}
	if err != nil {
		return agents.DeleteResult{}, err
	}
	return agents.DeleteResult{AgentID: in.AgentID, Status: agents.Terminated, Removed: in.Remove}, nil
}

// revise changes the record of an agent that is there: f fills next, a copy of
// old, and returns it.
func (r *Room) revise(ctx context.Context, call tools.Call, k key, f func(old, next *record) (*record, error)) (*record, error) {
	return r.Book.change(ctx, call, k, func(old *record) (*record, error) {
		if old == nil {
			return nil, &NoAgentError{k.id}
		}
		next := *old
		next.Updated = r.Now().UnixMilli()
		return f(old, &next)
	})
}

// bury removes what is left of one life of an agent: its sessions, what was
// spent, but where that is counted on in the account kept, and of an independent
// one its key, with all that it had delegated.
func (r *Room) bury(ctx context.Context, k key, past *record, kept tools.Life) error {
	if account := past.account(k); account != kept {
		if err := r.Accounts.Remove(ctx, account); err != nil {
			return err
		}
	}
	if past.DID != "" {
		if err := r.Retire(ctx, past.life(k), past.principal(k)); err != nil {
			return err
		}
	}
	return r.Runs.Sessions().Remove(ctx, past.life(k))
}

// noChildren keeps the record of an agent that others have their capabilities
// from: without it they would hold nothing, silently.
func (r *Room) noChildren(ctx context.Context, call tools.Call, id string) error {
	k := ownKey(call, id)
	children, err := r.Book.childrenOf(ctx, k, call.Owner())
	// An independent agent keeps its children in a namespace of its own.
	if _, rec, found := r.find(ctx, k); err == nil && found == nil && rec.DID != "" {
		var more []string
		more, err = r.Book.childrenOf(ctx, k, rec.principal(k))
		children = append(children, more...)
	}
	if err != nil || len(children) == 0 {
		return err
	}
	if !call.Caps().Check(caps.Need("agent/read", "g")).IsAllowed() {
		children = []string{fmt.Sprintf("%d others", len(children))}
	}
	return fmt.Errorf("agent %s gave capabilities to %s: delete those first, or delete it without remove", id, strings.Join(children, ", "))
}

// Suspend keeps an agent from working until it is resumed.
func (r *Room) Suspend(ctx context.Context, call tools.Call, in agents.Ref) (agents.State, error) {
	return r.setStatus(ctx, call, in.AgentID, agents.Suspended)
}

// Resume lets a suspended agent work.
func (r *Room) Resume(ctx context.Context, call tools.Call, in agents.Ref) (agents.State, error) {
	return r.setStatus(ctx, call, in.AgentID, agents.Sleeping)
}

func (r *Room) setStatus(ctx context.Context, call tools.Call, id, status string) (agents.State, error) {
	k := ownKey(call, id)
	works := false // again
	rec, err := r.revise(ctx, call, k, func(old, next *record) (*record, error) {
		works = old.Status == agents.Suspended && status == agents.Sleeping
		if old.Status == agents.Terminated {
			return nil, fmt.Errorf("agent %s is TERMINATED", id)
		}
		if next.Status = status; status == agents.Sleeping {
			next.Failing = nil
		}
		return next, nil
	})
	if err == nil && works {
		err = r.Runs.WakeAll(context.WithoutCancel(ctx), k.owner, runs.OfAgent(id))
	}
	if err != nil {
		return agents.State{}, err
	}
	return agents.State{AgentID: id, Status: r.status(k, rec.Status)}, nil
}

var errAdopt = fault.New(fault.Refused, "only the owner in person adopts: an agent that did could take what it made out of its own bounds")

// Adopt lets what others made stand below the owner alone. What it may do stays
// what it was given.
func (r *Room) Adopt(ctx context.Context, call tools.Call, in agents.Adopt) (agents.AdoptResult, error) {
	if !byOwner(call) {
		return agents.AdoptResult{}, errAdopt
	}
	if in.AgentID == "" {
		program, err := in.Program()
		if err != nil {
			return agents.AdoptResult{}, err
		}
		if program = program.In(call.Owner().String()); program.DID() != "" {
			return agents.AdoptResult{}, fmt.Errorf("%s is no program: programs lie below o/ in your own namespace", program)
		}
		if _, err := r.Gate.Resolve(ctx, call.Authority(), program.String()); err != nil {
			return agents.AdoptResult{}, err
		}
		err = r.Programs.Adopt(ctx, call.Owner(), program, in.Value)
		return agents.AdoptResult{Path: program.String(), Adopted: err == nil}, err
	}
	_, err := r.revise(ctx, call, ownKey(call, in.AgentID), func(_, next *record) (*record, error) {
		next.Givers, next.Wrote, next.Config.Parent = nil, tools.Bound{}, ""
		return next, nil
	})
	return agents.AdoptResult{AgentID: in.AgentID, Adopted: err == nil}, err
}

// Info describes an agent as far as the caller may know it.
func (r *Room) Info(ctx context.Context, call tools.Call, in agents.Ref) (agents.Info, error) {
	k := ownKey(call, in.AgentID)
	e, rec, err := r.find(ctx, k)
	if err != nil {
		return agents.Info{}, err
	}
	sessions, inbox, err := r.Runs.Sessions().Count(ctx, rec.life(k))
	if err != nil {
		return agents.Info{}, err
	}
	known := func(k key) bool { return mayKnow(call, k) }
	budgets, spent, err := r.budgetsOf(ctx, k, known)
	if err != nil {
		return agents.Info{}, err
	}
	lost, err := r.idleGivers(ctx, k, rec, known)
	if err != nil {
		return agents.Info{}, err
	}
	config := rec.Config
	if config.Parent != "" && !known(ownKey(call, config.Parent)) {
		config.Parent = ""
	}
	config.Caps = caps.Declare(rec.Caps)
	return agents.Info{
		AgentID: in.AgentID, Status: r.status(k, rec.Status), DID: rec.principal(k).String(), Config: config, Caps: r.Book.effective(e),
		Budgets: budgets, Spent: spent,
		Creators: creators(rec, known), Lost: lost, Failing: rec.Failing, Sessions: sessions, Inbox: inbox, Created: rec.Created, Updated: rec.Updated,
	}, nil
}

// usualPage is how many agents a page has that nobody bounds.
const usualPage = 100

// List returns a page of the owner's agents.
func (r *Room) List(ctx context.Context, call tools.Call, q agents.Query) (agents.Listing, error) {
	return r.Page(ctx, call.Owner(), q)
}

// Page returns a page of the agents of owner.
func (r *Room) Page(ctx context.Context, owner ucan.DID, q agents.Query) (agents.Listing, error) {
	ids, list, next, err := r.Book.page(ctx, owner, q.Cursor, cmp.Or(q.Limit, usualPage))
	out := agents.Listing{Agents: []agents.Summary{}, Cursor: next}
	for i := range list {
		if b := &list[i]; b.Status != agents.Terminated || q.IncludeTerminated {
			out.Agents = append(out.Agents, agents.Summary{AgentID: ids[i], Status: r.status(key{owner, ids[i]}, b.Status), Description: b.Config.Description, Created: b.Created})
		}
	}
	return out, err
}
