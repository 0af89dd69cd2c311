package visitors

import (
	"context"
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
	if err == nil && (a == nil || a.Host != by.Host.ID) {
		err = errNoAgent
	}
	return a, h, err
}

// Status is an agent as it is now, for its host and itself.
func (r *Room) Status(ctx context.Context, by *Caller, id string) (*Registered, error) {
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
		if err := r.polled(ctx, a); err != nil {
			return nil, err
		}
	}
	return &Registered{Agent: a, Host: h}, nil
}

// polled notes that a host asks whether a person has answered, or says that it asks too
// often: at most once in half of the interval, as clocks and networks differ.
func (r *Room) polled(ctx context.Context, a *Agent) error {
	now := r.Now().UnixMilli()
	if now-a.Ask.Polled < Interval.Milliseconds()/5 {
		return &Refusal{SlowDown, "the status is asked for too often: wait for the interval of the approval", map[string]any{"interval": int64(Interval.Seconds())}}
	}
	a.Ask.Polled = now
	_, err := r.Store.Apply(ctx, map[string]uint64{agentKey(a.ID): a.rev}, map[string][]byte{agentKey(a.ID): encode(a)}, nil)
	return err
}

// Ask has an active agent ask for more. A person answers, whatever the host may have.
func (r *Room) Ask(ctx context.Context, by *Caller, in Asking) (out *Registered, err error) {
	s := r.set.Load()
	if len(in.Capabilities) == 0 {
		return nil, refuse(InvalidRequest, "capabilities is empty: name what the agent asks for")
	}
	if err := in.check(s); err != nil {
		return nil, err
	}
	err = again(func() error {
		a, h, err := r.mine(ctx, by, "")
		if err == nil {
			err = r.active(a, h)
		}
		if err != nil {
			return err
		}
		if a.Mode == Autonomous {
			return refuse(BlockedCap, "nobody approves what autonomous agents ask for: they have what the configuration gives them")
		}
		out, err = r.escalate(ctx, by, a, h, &in)
		return err
	})
	return out, err
}

func (r *Room) escalate(ctx context.Context, by *Caller, a *Agent, h *Host, in *Asking) (*Registered, error) {
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
		asked, err := w.Constraints.And(s.grant[w.Name].imposed)
		if err != nil {
			return nil, err
		}
		covered := false
		for j := range kept {
			g := &kept[j]
			covered = covered || g.Capability == w.Name && g.Constraints.Covers(asked) && r.stands(ctx, a, g)
		}
		if covered {
			granted = append(granted, w.Name)
			continue
		}
		a.Grants = append(a.Grants, r.newGrant(w, in.Reason))
	}
	if len(granted) == len(in.Capabilities) {
		return nil, refuse(AlreadyGranted, "the agent has all of it already: %s", strings.Join(granted, ", "))
	}
	a.Grants = r.fewer(a.Grants)
	if len(a.Grants) > maxGrants {
		return nil, refuse(LimitExceeded, "the agent has %d grants, as many as one may have", maxGrants)
	}
	var c change
	approval, err := r.ask(&c, a, Ask{Kind: kindEscalate, Method: DeviceMethod, Asked: a.User, Says: in.BindingMessage, Reason: in.Reason})
	if err != nil {
		return nil, err
	}
	c.agent(a, r.Now())
	c.same(h)
	what := by.row("request-capability")
	what.Result, what.Detail = string(Pending), strings.Join(names(in.Capabilities), " ")
	return &Registered{Agent: a, Host: h, Approval: approval}, r.write(ctx, &c, what)
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

// ownerMay reports whether a caller, or a person who acts for nobody else, is let change an agent.
func ownerMay(user, who ucan.DID) bool { return !user.IsZero() && user == who }

// Revoke ends an agent for good, for itself, its host, or the person it acts for. One that
// has ended stays as it is.
func (r *Room) Revoke(ctx context.Context, by *Caller, who ucan.DID, id string) (out *Agent, err error) {
	err = again(func() error {
		a, h, err := r.owned(ctx, by, who, id)
		if err != nil {
			return err
		}
		if out = a; a.Status == Revoked {
			return nil
		}
		what := by.rowOr("revoke", who, a)
		return r.finish(ctx, a, h, what)
	})
	return out, err
}

func (c *Caller) rowOr(call string, who ucan.DID, a *Agent) row {
	what := c.row(call)
	what.Agent, what.Host = a.ID, a.Host
	if c == nil {
		what.User = who.String()
	}
	return what
}

// owned is the agent that a caller means, or the person it acts for.
func (r *Room) owned(ctx context.Context, by *Caller, who ucan.DID, id string) (*Agent, *Host, error) {
	if by != nil {
		return r.mine(ctx, by, id)
	}
	if id == "" || len(id) > maxName {
		return nil, nil, errNoAgent
	}
	a, h, err := r.agent(ctx, id)
	if err == nil && (a == nil || !ownerMay(a.User, who)) {
		err = refuse(AgentNotFound, "no such agent acts for you")
	}
	return a, h, err
}

// finish revokes one agent, then its delegations: what is written first lets none of them count.
func (r *Room) finish(ctx context.Context, a *Agent, _ *Host, what row) error {
	var c change
	r.forget(&c, a)
	tokens := tokensOf(a, Revoked, r.Now(), every)
	a.Status = Revoked
	c.agent(a, r.Now())
	c.del = append(c.del, ofHost(a.Host)+a.ID)
	what.Result = string(Revoked)
	if err := r.write(ctx, &c, what); err != nil {
		return err
	}
	return r.withdraw(ctx, a.User, tokens)
}

// RevokeGrants ends the grants of some capabilities of an agent, and returns how many.
func (r *Room) RevokeGrants(ctx context.Context, by *Caller, who ucan.DID, id string, capabilities []string) (out *Agent, n int, err error) {
	if len(capabilities) == 0 || len(capabilities) > maxAsked {
		return nil, 0, refuse(InvalidRequest, "capabilities has 1 to %d names", maxAsked)
	}
	named := func(g *Grant) bool {
		for _, name := range capabilities {
			if g.Capability == name {
				return true
			}
		}
		return false
	}
	err = again(func() error {
		a, _, err := r.owned(ctx, by, who, id)
		if err != nil {
			return err
		}
		n = 0
		for i := range a.Grants {
			if g := &a.Grants[i]; (g.Status == Active || g.Status == Pending) && named(g) {
				n++
			}
		}
		if out = a; n == 0 {
			return nil
		}
		tokens := tokensOf(a, Revoked, r.Now(), named)
		var c change
		c.agent(a, r.Now())
		what := by.rowOr("revoke-capability", who, a)
		what.Result, what.Detail = string(Revoked), strings.Join(capabilities, " ")
		if err := r.write(ctx, &c, what); err != nil {
			return err
		}
		return r.withdraw(ctx, a.User, tokens)
	})
	return out, n, err
}

// RevokeHost ends a host for good, with all its agents.
func (r *Room) RevokeHost(ctx context.Context, by *Caller, who ucan.DID, id string) (h *Host, n int, err error) {
	if by != nil {
		if by.Agent != nil || id != "" && id != by.Host.ID {
			return nil, 0, refuse(Unauthorized, "a host is revoked by itself, or by the person it acts for")
		}
		id = by.Host.ID
	}
	err = again(func() error {
		if h, err = r.host(ctx, id); err != nil {
			return err
		}
		if h == nil || by == nil && !ownerMay(h.User, who) {
			return refuse(HostNotFound, "no such host acts for you")
		}
		if h.Status == Revoked {
			return nil
		}
		h.Status = Revoked
		var c change
		c.host(h, r.Now())
		what := by.row("revoke-host")
		what.Host, what.Result = h.ID, string(Revoked)
		if by == nil {
			what.User = who.String()
		}
		return r.write(ctx, &c, what)
	})
	if err != nil {
		return nil, 0, err
	}
	n, err = r.endAll(ctx, by, who, h)
	return h, n, err
}

// endAll revokes the agents of a host that is revoked: none of them counts any more, and now
// their records and delegations say so.
func (r *Room) endAll(ctx context.Context, by *Caller, who ucan.DID, h *Host) (n int, err error) {
	for from := ""; ; {
		keys, next, err := r.Store.PageKeys(ctx, ofHost(h.ID), from, 256)
		if err != nil {
			return n, err
		}
		for _, key := range keys {
			id := strings.TrimPrefix(key, ofHost(h.ID))
			err := again(func() error {
				a, _, err := r.agent(ctx, id)
				if a == nil || err != nil || a.Status == Revoked {
					return err
				}
				n++
				return r.finish(ctx, a, h, by.rowOr("revoke", who, a))
			})
			if err != nil {
				return n, err
			}
		}
		if next == "" {
			return n, nil
		}
		from = next
	}
}

// Reactivate has an expired agent go on, with the defaults alone: what it was granted beyond
// them, and what it asks for, is dropped.
func (r *Room) Reactivate(ctx context.Context, by *Caller, id string) (out *Registered, err error) {
	if by.Agent != nil {
		return nil, refuse(Unauthorized, "the host has its agents go on")
	}
	err = again(func() error {
		a, h, err := r.mine(ctx, by, id)
		if err != nil {
			return err
		}
		out = &Registered{Agent: a, Host: h}
		switch err := r.active(a, h); {
		case err == nil:
			return nil
		case codeOf(err) != AgentExpired:
			return err
		}
		return r.reactivate(ctx, by, out)
	})
	return out, err
}

func (r *Room) reactivate(ctx context.Context, by *Caller, out *Registered) error {
	a, h := out.Agent, out.Host
	s, now := r.set.Load(), r.Now()
	var c change
	r.forget(&c, a)
	defaults := map[string]Constraints{}
	for i := range a.Grants {
		if g := &a.Grants[i]; g.Default && g.Status == Active {
			defaults[g.Capability] = g.Constraints
		}
	}
	tokens := tokensOf(a, Revoked, now, every)
	r.activate(a)
	if a.Mode == Autonomous && s.Autonomous == nil {
		return refuse(UnsupportedMode, "this venue lets no autonomous agents in any more")
	}
	for i := range s.Capabilities {
		one := &s.Capabilities[i]
		limits, had := defaults[one.Name]
		if a.Mode == Delegated && !one.Default || a.Mode == Autonomous && !had {
			continue
		}
		g := r.newGrant(&Wanted{one.Name, limits}, a.Reason)
		g.Default = true
		if err := r.issue(ctx, a, &g, a.User, zeroTime); err != nil {
			return r.undone(ctx, a, err)
		}
		a.Grants = append(a.Grants, g)
	}
	a.Grants = r.fewer(a.Grants)
	c.agent(a, now)
	c.same(h)
	what := by.row("reactivate")
	what.Agent, what.Result = a.ID, string(Active)
	if err := r.write(ctx, &c, what); err != nil {
		return r.undone(ctx, a, err)
	}
	return r.withdraw(ctx, a.User, tokens)
}

// RotateAgent gives an agent another key. Its grants are signed anew for that one.
func (r *Room) RotateAgent(ctx context.Context, by *Caller, id string, raw []byte) (out *Registered, err error) {
	key, err := readKey(raw)
	if err != nil {
		return nil, err
	}
	err = again(func() error {
		a, h, err := r.mine(ctx, by, id)
		if err == nil {
			err = r.active(a, h)
		}
		if err != nil {
			return err
		}
		if key == h.Key {
			return refuse(InvalidKey, "the agent has the key of its host: make it one of its own")
		}
		var c change
		if err := r.claimKey(ctx, &c, key, "agent "+a.ID); err != nil {
			return err
		}
		a.Key, a.JWKS = key, ""
		var old []ucan.CID
		for i := range a.Grants {
			g := &a.Grants[i]
			if !r.stands(ctx, a, g) {
				continue
			}
			before, by, until := g.Tokens, g.By, zeroTime
			if g.Expires > 0 {
				until = unix(g.Expires)
			}
			if err := r.issue(ctx, a, g, by, until); err != nil {
				return r.undone(ctx, a, err)
			}
			old = append(old, before...)
		}
		c.agent(a, r.Now())
		c.same(h)
		what := by.row("rotate-key")
		what.Agent, what.Result = a.ID, "ok"
		if err := r.write(ctx, &c, what); err != nil {
			return r.undone(ctx, a, err)
		}
		out = &Registered{Agent: a, Host: h}
		return r.withdraw(ctx, a.User, old)
	})
	return out, err
}

// RotateHost gives a host another key. The old one is never a host's again.
func (r *Room) RotateHost(ctx context.Context, by *Caller, raw []byte) (out *Host, err error) {
	if by.Agent != nil {
		return nil, refuse(Unauthorized, "a host gives itself another key")
	}
	key, err := readKey(raw)
	if err != nil {
		return nil, err
	}
	err = again(func() error {
		h, err := r.host(ctx, by.Host.ID)
		if err != nil || h == nil {
			return errUnverified
		}
		if h.Key != by.Host.Key {
			return errUnverified
		}
		if h.Status == Revoked {
			return refuse(HostRevoked, "the host was revoked, for good")
		}
		var c change
		if err := r.claimKey(ctx, &c, key, "host "+h.ID); err != nil {
			return err
		}
		h.Key, h.JWKS = key, ""
		c.host(h, r.Now())
		what := by.row("rotate-host-key")
		what.Result = "ok"
		out = h
		return r.write(ctx, &c, what)
	})
	return out, err
}

// claimKey marks whose a key is that nobody has or had.
func (r *Room) claimKey(ctx context.Context, c *change, key ucan.DID, whose string) error {
	thumbprint := Thumbprint(key)
	kind, _, err := r.ownerOf(ctx, thumbprint)
	if err != nil {
		return err
	}
	if kind != "" {
		return refuse(InvalidKey, "the key is or was somebody's: make a new one")
	}
	c.init()
	c.expect[thumbKey(thumbprint)], c.put[thumbKey(thumbprint)] = 0, []byte(whose)
	return nil
}
