package visitors

import (
	"context"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/ucan"
)

// lifeMark begins the id of a visitor in a [tools.Life].
const lifeMark = agents.VisitorMark

// lifeOf is the life of an agent while it acts for its user.
func lifeOf(a *Agent) tools.Life { return tools.NewLife(a.User, lifeMark+a.ID, "1") }

// IsLife reports whether a life is a visitor's.
func IsLife(life tools.Life) bool { return strings.HasPrefix(life.Agent(), lifeMark) }

// ofLife returns the agent of a life that is active and acts for its owner, and its host.
func (r *Room) ofLife(ctx context.Context, life tools.Life) (*Agent, ucan.DID) {
	owner, err := ucan.ParseDID(life.Owner())
	if err != nil || !IsLife(life) {
		return nil, ucan.DID{}
	}
	a, h, err := r.agent(ctx, strings.TrimPrefix(life.Agent(), lifeMark))
	if err != nil || a == nil || a.User != owner || r.Standing(a, h) != Active {
		return nil, owner
	}
	return a, owner
}

// IsGone reports whether the life of a visitor has ended, for good.
func (r *Room) IsGone(ctx context.Context, life tools.Life) (bool, error) {
	a, h, err := r.agent(ctx, strings.TrimPrefix(life.Agent(), lifeMark))
	return err == nil && (a == nil || r.Standing(a, h).IsFinal()), err
}

// Live is that of [tools.Lives]: what the grants of an active visitor give together, and
// nothing for others.
func (r *Room) Live(ctx context.Context, life tools.Life) (caps.Set, ucan.DID) {
	a, owner := r.ofLife(ctx, life)
	if a == nil {
		return caps.Set{}, owner
	}
	var all []caps.Capability
	for i := range a.Grants {
		list, err := r.capsOf(ctx, a, &a.Grants[i])
		if err != nil { // what cannot be read gives nothing
			continue
		}
		for _, c := range list {
			if !slices.ContainsFunc(all, c.Equal) { // denials and prompts list them
				all = append(all, c)
			}
		}
	}
	return caps.Of(all...), owner
}

// Signs is what a token gives that names the life of a visitor: while that is active, and the user
// issued it for the key that the agent has now, what the grants give now, as [Room.Live] has it, and
// nothing else. Where the agent's keys are at a URL it gives nothing: only Agent-Auth looks whether
// the key still stands there.
func (r *Room) Signs(ctx context.Context, issuer, audience ucan.DID, life tools.Life) (caps.Set, ucan.DID) {
	a, owner := r.ofLife(ctx, life)
	if a == nil || issuer != owner || audience != a.Key || a.JWKS != "" {
		return caps.Set{}, owner
	}
	return r.Live(ctx, life)
}

// capsOf is what a grant gives now: what its tokens and the configuration both say, and what
// its operation may do further.
func (r *Room) capsOf(ctx context.Context, a *Agent, g *Grant) ([]caps.Capability, error) {
	if !r.stands(ctx, a, g) {
		return nil, nil
	}
	w, err := r.worth(ctx, a, g)
	if err != nil || w.of == nil {
		return nil, err
	}
	return append(w.list, w.of.within...), nil
}

// worth is what a grant gives that stands.
func (r *Room) worth(ctx context.Context, a *Agent, g *Grant) (w worth, err error) {
	c := r.set.Load().grant[g.Capability]
	if c == nil || c.Location != "" {
		return w, nil
	}
	end := r.end(a)
	end = end.Truncate(time.Second)
	if g.memo != nil {
		if w := g.memo.Load(); w != nil && w.of == c && w.user == a.User && w.until.Equal(end) {
			return *w, nil
		}
	}
	w = worth{of: c, user: a.User, until: end}
	if w.limits, err = g.Constraints.and(c.imposed); err != nil {
		return worth{}, err
	}
	list, err := c.gives(w.limits, end)
	if err != nil {
		return worth{}, err
	}
	var signed []caps.Capability
	for _, cid := range g.Tokens {
		l, err := r.Verifier.Store.Get(ctx, cid)
		if err != nil {
			return worth{}, err
		}
		signed = append(signed, l.Capabilities()...)
	}
	set := caps.Of(list...).Intersect(caps.Of(signed...).AsSeenBy(a.User.String(), a.User.String()))
	w.list = slices.Clip(slices.Collect(set.All()))
	if g.memo != nil {
		g.memo.Store(&w)
	}
	return w, nil
}

// isLent reports whether an agent may have a capability that nobody has approved: as the configuration
// says now, and for whom.
func (s *settings) isLent(a *Agent, capability string) bool {
	if a.Mode == Autonomous {
		return s.Autonomous != nil && a.User == s.lender && slices.Contains(s.Autonomous.Capabilities, capability)
	}
	of := s.grant[capability]
	return of != nil && of.Default
}

// stands reports whether a grant is active, and none of its tokens was revoked or has ended. One that
// came without asking stands as long as the configuration gives it so.
func (r *Room) stands(ctx context.Context, a *Agent, g *Grant) bool {
	if r.standing(g) != Active || len(g.Tokens) == 0 || g.Default && !r.set.Load().isLent(a, g.Capability) {
		return false
	}
	for _, cid := range g.Tokens {
		l, err := r.Verifier.Store.Get(ctx, cid)
		if err != nil || l.Issuer != a.User || r.Verifier.Check(ctx, l) != nil {
			return false
		}
	}
	return true
}

// isWithdrawn reports whether a delegation of a grant was revoked by itself.
func (r *Room) isWithdrawn(ctx context.Context, g *Grant) (bool, error) {
	for _, cid := range g.Tokens {
		if list, err := r.Verifier.Store.Revocations(ctx, cid); err != nil || len(list) > 0 {
			return true, err
		}
	}
	return false, nil
}

// GrantStatus is the status of a grant as the agent is told: a delegation that the person has
// revoked by itself is a revoked grant.
func (r *Room) GrantStatus(ctx context.Context, a *Agent, g *Grant) Status {
	status := r.standing(g)
	if status == Active && (r.set.Load().grant[g.Capability] == nil || !r.stands(ctx, a, g)) {
		return Revoked
	}
	return status
}

// issue signs the delegations of a grant with the key of the agent's user, and makes it active.
func (r *Room) issue(ctx context.Context, c *change, a *Agent, g *Grant, by ucan.DID, until time.Time) error {
	of := r.set.Load().grant[g.Capability]
	if of == nil {
		return refuse(invalidCaps, "there is no capability %s any more", g.Capability)
	}
	limits, err := g.Constraints.and(of.imposed)
	if err != nil {
		return err
	}
	list, err := of.gives(limits, time.Time{})
	if err != nil {
		return err
	}
	end := r.end(a)
	if !until.IsZero() && until.Before(end) {
		end, g.Expires = until, until.Unix()
	}
	if err := r.sign(ctx, c, a, g, list, end); err != nil {
		return err
	}
	g.Status, g.By, g.Constraints = Active, by, limits
	return nil
}

// renew signs the delegations of a grant for the key that its agent has now, in the place of those
// that it has: they give what these give, as long as these do.
func (r *Room) renew(ctx context.Context, c *change, a *Agent, g *Grant) error {
	var list []caps.Capability
	var end time.Time
	for _, cid := range g.Tokens {
		l, err := r.Verifier.Store.Get(ctx, cid)
		if err != nil {
			return err
		}
		if list = append(list, l.Capabilities()...); end.IsZero() || l.Expires().Before(end) {
			end = l.Expires()
		}
		c.ended = append(c.ended, delegation{a.User, cid})
	}
	owner := a.User.String()
	return r.sign(ctx, c, a, g, slices.Collect(caps.Of(list...).AsSeenBy(owner, owner).All()), end)
}

// sign signs the delegations of a grant with the key of the agent's user.
func (r *Room) sign(ctx context.Context, c *change, a *Agent, g *Grant, list []caps.Capability, end time.Time) error {
	key, err := r.Keys.Of(ctx, a.User)
	if err != nil {
		return err
	}
	issuer := ucan.Issuer{Key: key, Verifier: r.Verifier, Rand: r.Rand}
	links, err := issuer.Delegate(ctx, ucan.Delegation{
		Audience: a.Key, Capabilities: list, Owner: a.User, Expires: end.Truncate(time.Second), Agents: []string{string(lifeOf(a))},
	})
	if err != nil {
		return err
	}
	g.Tokens, g.memo = nil, nil
	for _, l := range links {
		g.Tokens = append(g.Tokens, l.CID)
		c.signed = append(c.signed, delegation{a.User, l.CID})
	}
	g.Updated = r.Now().UnixMilli()
	return nil
}
