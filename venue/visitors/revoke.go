package visitors

import (
	"context"
	"slices"
	"strings"

	"usher/caps/value"
	"usher/ucan"
	"usher/venue/store"
)

// Revoke ends an agent for good, for itself, its host, the person it acts for, or the owner of
// the configuration. One that has ended stays as it is.
func (r *Room) Revoke(ctx context.Context, by *Caller, who ucan.DID, id string) (out *Agent, err error) {
	err = r.again(ctx, func(c *change) error {
		a, err := r.agentOf(ctx, by, who, id)
		if err != nil {
			return err
		}
		if out = a; a.Status == Revoked {
			return nil
		}
		return r.finish(ctx, c, by, who, a)
	})
	return out, err
}

// agentOf is the agent that a caller means, or a person who may revoke it.
func (r *Room) agentOf(ctx context.Context, by *Caller, who ucan.DID, id string) (a *Agent, err error) {
	if by == nil {
		a, _, err = r.ownAgent(ctx, who, id)
		return a, err
	}
	if err := by.mayChange(); err != nil {
		return nil, err
	}
	a, _, err = r.mine(ctx, by, id)
	return a, err
}

// ownAgent is an agent that a person may revoke, and its host.
func (r *Room) ownAgent(ctx context.Context, who ucan.DID, id string) (*Agent, *Host, error) {
	if id == "" || len(id) > maxName {
		return nil, nil, errNoAgent
	}
	a, h, err := r.agent(ctx, id)
	if err == nil && (a == nil || !r.mayEnd(a.User, who)) {
		err = refuse(AgentNotFound, "no such agent acts for you")
	}
	return a, h, err
}

// finish adds to a change that an agent is revoked, and what it waits for over.
func (r *Room) finish(ctx context.Context, c *change, by *Caller, who ucan.DID, a *Agent) error {
	if err := r.forget(ctx, c, a); err != nil {
		return err
	}
	c.says(by, who, "revoke", a, string(Revoked))
	r.over(c, a, Revoked)
	return nil
}

// RevokeGrants ends the grants of some capabilities of an agent, and returns how many. What a person
// has revoked the agent gets from nobody but a person.
func (r *Room) RevokeGrants(ctx context.Context, by *Caller, who ucan.DID, id string, capabilities []string) (out *Agent, n int, err error) {
	if len(capabilities) == 0 || len(capabilities) > maxAsked {
		return nil, 0, refuse(InvalidRequest, "capabilities has 1 to %d names", maxAsked)
	}
	named := func(g *Grant) bool { return slices.Contains(capabilities, g.Capability) }
	err = r.again(ctx, func(c *change) error {
		a, err := r.agentOf(ctx, by, who, id)
		if err != nil {
			return err
		}
		out = a
		known := len(a.Decided)
		for _, name := range capabilities {
			if by == nil && r.set.Load().grant[name] != nil && !a.Status.IsFinal() {
				a.decides(name)
			}
		}
		if n = c.end(a, Revoked, r.Now(), named); n > 0 || len(a.Decided) > known {
			c.agent(a, r.Now())
			c.says(by, who, "revoke-capability", a, string(Revoked))
			c.row.Detail = value.Cut(strings.Join(capabilities, " "), maxText)
		}
		return nil
	})
	return out, n, err
}

var errNoHost = refuse(HostNotFound, "no such host acts for you")

// RevokeHost ends a host for good, with all its agents.
func (r *Room) RevokeHost(ctx context.Context, by *Caller, who ucan.DID, id string) (h *Host, n int, err error) {
	if by != nil {
		if by.Agent != nil || id != "" && id != by.Host.ID {
			return nil, 0, refuse(Unauthorized, "a host is revoked by itself, or by the person it acts for")
		}
		id = by.Host.ID
	}
	if len(id) > maxName {
		return nil, 0, errNoHost
	}
	err = r.again(ctx, func(c *change) error {
		if h, err = r.host(ctx, id); err != nil {
			return err
		}
		if h == nil || by == nil && !r.mayEnd(h.User, who) {
			return errNoHost
		}
		if by != nil {
			if err := by.signs(nil, h); err != nil {
				return err
			}
		}
		if h.Status == Revoked {
			return nil
		}
		if h.Status = Revoked; h.User.IsZero() { // a record of nobody's is forgotten, and its key with it
			h.User = who
		}
		if by != nil && by.Host.Key != h.Key && !h.User.IsZero() { // of those at its URL
			if err := r.own(ctx, c, by.Host.Key, "host "+h.ID); err != nil {
				return err
			}
		}
		c.host(h, r.Now())
		c.row = by.row("revoke-host")
		c.row.Host, c.row.Result = h.ID, string(Revoked)
		if by == nil {
			c.row.User = who.String()
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	n, err = r.endAll(ctx, by, who, h, func(*Agent) bool { return true })
	return h, n, err
}

// endAll revokes agents of a host that count no more, as that was revoked or has become a
// person's: now their records and delegations say so.
func (r *Room) endAll(ctx context.Context, by *Caller, who ucan.DID, h *Host, which func(*Agent) bool) (n int, err error) {
	for key, err := range store.Keys(ctx, r.Store, ofHost(h.ID), "") {
		if err != nil {
			return n, err
		}
		ended := 0
		err = r.again(ctx, func(c *change) error {
			a, _, err := r.agent(ctx, strings.TrimPrefix(key, ofHost(h.ID)))
			if ended = 0; a == nil || err != nil || a.Status != Active && a.Status != Pending || !which(a) {
				return err
			}
			ended = 1
			return r.finish(ctx, c, by, who, a)
		})
		if err != nil {
			return n, err
		}
		n += ended
	}
	return n, nil
}
