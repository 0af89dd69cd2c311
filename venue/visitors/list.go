package visitors

import (
	"context"
	"strings"

	"usher/ucan"
)

// listed is how many records a page of agents or hosts looks at.
const listed = 256

// AgentView is an agent as who answers for it sees it: its status and those of its grants are as
// they are now, the constraints those that are held to, and codes are left out.
type AgentView struct {
	*Agent
	HostName string `json:"hostName,omitempty"`
	Expires  int64  `json:"expires,omitempty"` // ms; 0 where it is not active
}

// mayEnd reports whether a person lists and revokes what acts for a user, or for nobody: the
// user does, and the owner of the configuration, who lets all in.
func (r *Room) mayEnd(user, who ucan.DID) bool {
	owner := r.set.Load().owner
	return !who.IsZero() && (user == who || owner == who)
}

// below is where the ids are of what somebody lists: all, or marks of what is or was theirs.
func (r *Room) below(who ucan.DID, kind, all string) string {
	if who == r.set.Load().owner {
		return all
	}
	return personal(who, kind)
}

// Agents lists agents that somebody may revoke, of one host or, where that is "", of all, in the
// order of their ids, from after an id: next is the one to go on with, "" at the end. A page may
// have few, or none.
func (r *Room) Agents(ctx context.Context, who ucan.DID, host, after string) (list []AgentView, next string, err error) {
	all := agentKey("")
	if host != "" {
		all = ofHost(host[:min(len(host), maxName)])
	}
	next, err = r.each(ctx, r.below(who, ofAgents, all), after, func(id string) error {
		a, h, err := r.agent(ctx, id)
		if err == nil && a != nil && r.mayEnd(a.User, who) && (host == "" || a.Host == host) {
			list = append(list, r.view(ctx, a, h))
		}
		return err
	})
	return list, next, err
}

// Hosts lists hosts as [Room.Agents] lists agents.
func (r *Room) Hosts(ctx context.Context, who ucan.DID, after string) (list []Host, next string, err error) {
	next, err = r.each(ctx, r.below(who, ofHosts, hostKey("")), after, func(id string) error {
		h, err := r.host(ctx, id)
		if err == nil && h != nil && r.mayEnd(h.User, who) {
			list = append(list, *h)
		}
		return err
	})
	return list, next, err
}

// each calls what with the ids below a prefix.
func (r *Room) each(ctx context.Context, below, after string, what func(id string) error) (next string, err error) {
	from := ""
	if after != "" {
		from = below + after[:min(len(after), maxName)] + "\x00"
	}
	keys, more, err := r.Store.PageKeys(ctx, below, from, listed)
	for i := 0; i < len(keys) && err == nil; i++ {
		next = strings.TrimPrefix(keys[i], below)
		err = what(next)
	}
	if more == "" || err != nil {
		next = ""
	}
	return next, err
}

// FindFor returns an agent that somebody may revoke.
func (r *Room) FindFor(ctx context.Context, who ucan.DID, id string) (*AgentView, error) {
	a, h, err := r.ownAgent(ctx, who, id)
	if err != nil {
		return nil, err
	}
	l := r.view(ctx, a, h)
	return &l, nil
}

func (r *Room) view(ctx context.Context, a *Agent, h *Host) AgentView {
	l := AgentView{Agent: a, HostName: h.Name}
	for i := range a.Grants {
		g := &a.Grants[i]
		g.Status = r.GrantStatus(ctx, a, g)
		if both, err := r.ConstraintsOf(g); err == nil { // of which one is left, no call is let through
			g.Constraints = both
		}
	}
	if a.Status = r.Standing(a, h); a.Status == Active {
		l.Expires = r.Expires(a).UnixMilli()
	}
	if a.Ask != nil {
		a.Ask.Code, a.Ask.Device = "", ""
	}
	return l
}
