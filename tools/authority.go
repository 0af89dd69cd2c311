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
	mint   *Mint
	owner  ucan.DID
	actor  string
	live   func() caps.Set
	bounds []string
	via    []string
	turns  []string
	budget *budget
	depth  int
	job    string
	sess   string
	mark   *mark
}

// Mint makes authorities for one gate. Whoever holds it decides who acts, so
// it stays with the venue.
type Mint struct{ calls int } // that may come of one first call; not empty: two mints have two addresses

// User is the authority of owner in person: unrestricted within the own
// namespace.
func (m *Mint) User(owner ucan.DID) Authority {
	return Authority{mint: m, owner: owner, live: caps.Unrestricted}
}

// Agent is the authority of an agent that acts as the principal owner. bound
// names the agent beyond doubt, for what it hands on. live returns the agent's
// effective capabilities as they are now; it is asked at every call.
func (m *Mint) Agent(owner ucan.DID, agent, bound string, live func() caps.Set) Authority {
	return Authority{mint: m, owner: owner, actor: agent, bounds: []string{bound}, live: live}
}

// Owner is the principal whose namespace the call works in.
func (a Authority) Owner() ucan.DID { return a.owner }

// Actor is the id of the agent that acts; empty for the owner in person.
func (a Authority) Actor() string { return a.actor }

// Via lists the agents on whose behalf the actor works, the first caller first.
func (a Authority) Via() []string { return slices.Clone(a.via) }

// Bounds names the agents whose capabilities bound the authority: the actor,
// and those on whose behalf it acts. What is handed on by it stays bound by
// all of them.
func (a Authority) Bounds() []string { return slices.Clone(a.bounds) }

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
	a.bounds = append(slices.Clone(a.bounds), caller.bounds...)
	a.live = meet(a.live, caller.seenBy(a.owner))
	return a
}

// seenBy returns the live capabilities as another principal writes them: a bare
// resource of one is another resource to the other.
func (a Authority) seenBy(other ucan.DID) func() caps.Set {
	if a.owner == other || a.live == nil {
		return a.live
	}
	type memo struct{ own, seen caps.Set }
	var last atomic.Pointer[memo]
	return func() caps.Set {
		own := a.live()
		m := last.Load()
		if m == nil || m.own != own {
			m = &memo{own, own.SeenBy(other.String(), a.owner.String())}
			last.Store(m)
		}
		return m.seen
	}
}

// CalledBy records the caller in the lineage, with its depth, its seal and its
// budget of calls, without taking the caller's capabilities: for agents that their owner
// lets act on their own.
func (a Authority) CalledBy(caller Authority) Authority {
	via := slices.Clone(caller.via)
	if caller.actor != "" {
		via = append(via, caller.actor)
	}
	a.via = via
	a.turns = append(slices.Clone(a.turns), caller.turns...)
	a.depth = max(a.depth, caller.depth)
	if a.budget == nil {
		a.budget = caller.budget
	}
	if a.job == "" {
		a.job = caller.job
	}
	if a.mark == nil {
		a.mark = caller.mark
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

// InTurn returns the same authority with a turn in its lineage: what it starts
// knows that the turn may be waiting for it. All calls of the turn have one
// budget of calls, that of whoever started it or else one of its own.
func (a Authority) InTurn(key string) Authority {
	a.turns = append(slices.Clone(a.turns), key)
	if a.budget == nil && a.mint != nil {
		a.budget = newBudget(a.mint.calls)
	}
	a.mark = &mark{above: a.mark}
	return a
}

// Within reports whether the authority was derived inside the turn.
func (a Authority) Within(turn string) bool { return slices.Contains(a.turns, turn) }

// budget counts the calls that come of one first call, however they branch.
type budget struct{ left atomic.Int64 }

func newBudget(calls int) *budget {
	b := new(budget)
	b.left.Store(int64(calls))
	return b
}

func (b *budget) take() bool { return b.left.Add(-1) >= 0 }

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
