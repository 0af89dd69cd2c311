package visitors

import (
	"context"
	"slices"
	"strings"

	"usher/ucan"
)

var errNoAgent = refuse(AgentNotFound, "the host has no such agent")

// mine returns the agent that a caller means: itself, or one of the host.
func (r *Room) mine(ctx context.Context, by *Caller, id string) (*Agent, *Host, error) {
	if by.Agent != nil {
		if id != "" && id != by.Agent.ID {
			return nil, nil, refuse(Unauthorized, "an agent speaks for itself alone")
		}
		id = by.Agent.ID
	}
	if id == "" {
		return nil, nil, refuse(InvalidRequest, "agent_id is missing")
	}
	if len(id) > maxName {
		return nil, nil, errNoAgent
	}
	a, h, err := r.agent(ctx, id)
	switch {
	case err != nil:
	case a == nil || a.Host != by.Host.ID:
		err = errNoAgent
	default:
		err = by.signs(a, h)
	}
	return a, h, err
}

// edit has the agent that a caller means be changed, while its host is as it was read. Without a row
// nothing is written.
func (r *Room) edit(ctx context.Context, by *Caller, id string, what func(c *change, a *Agent, h *Host) error) (out *RegisterResult, err error) {
	err = r.again(ctx, func(c *change) error {
		a, h, err := r.mine(ctx, by, id)
		if err != nil {
			return err
		}
		out = &RegisterResult{Agent: a, Host: h}
		if err := what(c, a, h); err != nil || c.row.Call == "" {
			return err
		}
		c.agent(a, r.Now())
		c.same(h)
		return nil
	})
	return out, err
}

// Status is an agent as it is now, for its host and itself.
func (r *Room) Status(ctx context.Context, by *Caller, id string) (*RegisterResult, error) {
	a, h, err := r.mine(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if by.Agent != nil && r.Standing(a, h) == Active {
		if err := r.touch(ctx, a); err != nil {
			return nil, err
		}
	}
	if by.Agent == nil && a.Ask != nil {
		if err := r.notePoll(ctx, a); err != nil {
			return nil, err
		}
	}
	return &RegisterResult{Agent: a, Host: h}, nil
}

// notePoll notes that a host asks whether a person has answered, or says that it asks too
// often: at most once in half of the interval, as clocks and networks differ.
func (r *Room) notePoll(ctx context.Context, a *Agent) error {
	now := r.Now().UnixMilli()
	if now-a.Ask.Polled < interval.Milliseconds()/5 {
		return &Refusal{slowDown, "the status is asked for too often: wait for the interval of the approval", map[string]any{"interval": int64(interval.Seconds())}}
	}
	a.Ask.Polled = now
	_, err := r.Store.Apply(ctx, map[string]uint64{agentKey(a.ID): a.rev}, map[string][]byte{agentKey(a.ID): encode(a)}, nil)
	return err
}

// Ask has an active agent ask for more. A person answers, whatever the host may have.
func (r *Room) Ask(ctx context.Context, by *Caller, in Petition) (out *RegisterResult, err error) {
	if err := by.mayChange(); err != nil {
		return nil, err
	}
	s := r.set.Load()
	if len(in.Capabilities) == 0 {
		return nil, refuse(InvalidRequest, "capabilities is empty: name what the agent asks for")
	}
	if err := in.check(s); err != nil {
		return nil, err
	}
	var approval *Approval
	out, err = r.edit(ctx, by, "", func(c *change, a *Agent, h *Host) error {
		if err := r.active(a, h); err != nil {
			return err
		}
		if a.Mode == Autonomous {
			return refuse(blockedCap, "nobody approves what autonomous agents ask for: they have what the configuration gives them")
		}
		if err := r.escalate(ctx, a, &in); err != nil {
			return err
		}
		c.says(by, ucan.DID{}, "request-capability", a, string(Pending))
		c.row.Detail = strings.Join(names(in.Capabilities), " ")
		approval, err = r.ask(ctx, c, a, h, in.of(kindEscalate, a.User))
		return err
	})
	if err == nil {
		out.Approval = approval
	}
	return out, err
}

// escalate has an agent want what it has not.
func (r *Room) escalate(ctx context.Context, a *Agent, in *Petition) error {
	s := r.set.Load()
	var granted []string
	kept := a.Grants[:0]
	for _, g := range a.Grants { // what was asked for before is asked for no more
		if g.Status != Pending {
			kept = append(kept, g)
		}
	}
	a.Grants = kept
	for i := range in.Capabilities {
		w := &in.Capabilities[i]
		asked, err := w.Constraints.and(s.grant[w.Name].imposed)
		if err != nil {
			return err
		}
		covered := false
		for j := range kept {
			g := &kept[j]
			covered = covered || g.Capability == w.Name && g.Constraints.covers(asked) && r.stands(ctx, a, g)
		}
		if covered {
			granted = append(granted, w.Name)
			continue
		}
		a.Grants = append(a.Grants, r.newGrant(w, in.Reason))
	}
	if len(granted) == len(in.Capabilities) {
		return refuse(alreadyGranted, "the agent has all of it already: %s", strings.Join(granted, ", "))
	}
	a.Grants = r.fewer(a.Grants)
	if len(a.Grants) > maxGrants {
		return refuse(LimitExceeded, "the agent has %d grants, as many as one may have", maxGrants)
	}
	return nil
}

// fewer drops the oldest grants that are over, where there are many.
func (r *Room) fewer(list []Grant) (kept []Grant) {
	over := len(list) - maxGrants/2
	for i := range list {
		if s := r.standing(&list[i]); over > 0 && s != Active && s != Pending {
			over--
			continue
		}
		kept = append(kept, list[i])
	}
	return kept
}

// Reactivate has an expired agent go on, with the defaults alone: what it was granted beyond
// them, and what it asks for, is dropped. Where a person has decided about one of them, it has what
// is left of what they granted.
func (r *Room) Reactivate(ctx context.Context, by *Caller, id string) (*RegisterResult, error) {
	if by.Agent != nil {
		return nil, refuse(Unauthorized, "the host has its agents go on")
	}
	return r.edit(ctx, by, id, func(c *change, a *Agent, h *Host) error {
		if err := r.active(a, h); codeOf(err) != agentExpired {
			return err
		}
		c.says(by, ucan.DID{}, "reactivate", a, string(Active))
		return r.reactivate(ctx, c, a)
	})
}

func (r *Room) reactivate(ctx context.Context, c *change, a *Agent) error {
	s := r.set.Load()
	if err := r.forget(ctx, c, a); err != nil {
		return err
	}
	has := map[string][]Grant{}
	for _, g := range a.Grants {
		if r.standing(&g) != Active {
			continue
		}
		switch withdrawn, err := r.isWithdrawn(ctx, &g); {
		case err != nil:
			return err
		case withdrawn:
			a.decides(g.Capability)
		default:
			has[g.Capability] = append(has[g.Capability], g)
		}
	}
	c.end(a, Revoked, r.Now(), every)
	r.activate(a)
	if a.Mode == Autonomous && s.Autonomous == nil {
		return errNotAutonomous
	}
	for i := range s.Capabilities {
		name := s.Capabilities[i].Name
		if !s.isLent(a, name) {
			continue
		}
		again := has[name]
		if len(again) == 0 && a.Mode == delegated && !slices.Contains(a.Decided, name) {
			again = []Grant{{}}
		}
		for i := range again {
			err := r.giveDefault(ctx, c, a, &Want{name, again[i].Constraints}, a.Reason, again[i].until())
			if err != nil && codeOf(err) != InvalidRequest { // of that the configuration leaves nothing now
				return err
			}
		}
	}
	a.Grants = r.fewer(a.Grants)
	return nil
}
