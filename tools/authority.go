package tools

import (
	"slices"
	"sync/atomic"

	"usher/caps"
	"usher/ucan"
)

// Authority says for whom a call is made, by which agent, within which
// capabilities, and on whose behalf. It is immutable. Only a [Mint] makes one;
// everything derived from it is narrower. The zero value can do nothing.
type Authority struct {
	mint  *Mint
	owner ucan.DID
	actor string
	live  func() caps.Set
	via   []string
	depth int
	job   string
	sess  string
}

// Mint makes authorities for one gate. Whoever holds it decides who acts, so
// it stays with the venue.
type Mint struct{ _ byte } // not empty: two mints have two addresses

// User is the authority of owner in person: unrestricted within the own
// namespace.
func (m *Mint) User(owner ucan.DID) Authority {
	return Authority{mint: m, owner: owner, live: caps.Unrestricted}
}

// Agent is the authority of an agent in owner's namespace. live returns the
// agent's effective capabilities as they are now; it is asked at every call.
func (m *Mint) Agent(owner ucan.DID, agent string, live func() caps.Set) Authority {
	return Authority{mint: m, owner: owner, actor: agent, live: live}
}

// Owner is the principal whose namespace the call works in.
func (a Authority) Owner() ucan.DID { return a.owner }

// Actor is the id of the agent that acts; empty for the owner in person.
func (a Authority) Actor() string { return a.actor }

// Via lists the agents on whose behalf the actor works, the first caller first.
func (a Authority) Via() []string { return slices.Clone(a.via) }

// Job is the id of the job that the call belongs to, if any.
func (a Authority) Job() string { return a.job }

// Session is the id of the session that the call belongs to, if any.
func (a Authority) Session() string { return a.sess }

// Caps returns the effective capabilities as they are now.
func (a Authority) Caps() caps.Set {
	if a.live == nil {
		return caps.Set{}
	}
	return a.live()
}

// Narrow returns the authority reduced to what set allows too.
func (a Authority) Narrow(set caps.Set) Authority {
	a.live = meet(a.live, func() caps.Set { return set })
	return a
}

// OnBehalfOf returns the authority reduced to what the caller may do, as it is
// at each call, with the caller in its lineage.
func (a Authority) OnBehalfOf(caller Authority) Authority {
	a = a.CalledBy(caller)
	a.live = meet(a.live, caller.live)
	return a
}

// CalledBy records the caller in the lineage, and its depth, without taking
// the caller's capabilities: for agents that their owner lets act on their own.
func (a Authority) CalledBy(caller Authority) Authority {
	via := slices.Clone(caller.via)
	if caller.actor != "" {
		via = append(via, caller.actor)
	}
	a.via = via
	a.depth = max(a.depth, caller.depth)
	if a.job == "" {
		a.job = caller.job
	}
	return a
}

// InJob returns the same authority, its calls recorded under the job.
func (a Authority) InJob(id string) Authority {
	a.job = id
	return a
}

// InSession returns the same authority, its calls recorded under the session.
func (a Authority) InSession(id string) Authority {
	a.sess = id
	return a
}

// meet intersects two live sets. The result is kept until one of them changes,
// so a check costs two pointer comparisons more.
func meet(a, b func() caps.Set) func() caps.Set {
	if a == nil || b == nil {
		return nil
	}
	type memo struct{ a, b, both caps.Set }
	var last atomic.Pointer[memo]
	return func() caps.Set {
		x, y := a(), b()
		if m := last.Load(); m != nil && m.a == x && m.b == y {
			return m.both
		}
		m := &memo{x, y, x.Intersect(y)}
		last.Store(m)
		return m.both
	}
}
