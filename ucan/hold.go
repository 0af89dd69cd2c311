package ucan

import (
	"context"
	"slices"
	"time"

	"usher/caps"
)

// times are those of one decision, in seconds: expiry is compared with the ceiling
// of now and not-before with its floor, so that a fraction never makes a token
// valid.
type times struct {
	floor, ceil, horizon int64
	bounded              bool  // horizon holds
	until                int64 // up to when the chain must hold; 0 is now
	least                int64 // expiry below which a token is of no use
}

func (v *Verifier) times(until int64) times {
	now := v.now()
	t := times{floor: now.Unix(), ceil: now.Unix(), until: until}
	if now.Nanosecond() > 0 {
		t.ceil++
	}
	life := v.Limits.life()
	t.bounded = life >= 0
	t.horizon = now.Unix() + int64(life/time.Second)
	t.least = max(t.ceil, until)
	return t
}

// holds checks a token, and all that a JWT names as its proofs, used or not:
// COG-13 verifies each parent, recursively.
func (s *search) holds(l *Link, height int) bool {
	if !s.inTime(l, height) {
		return false
	}
	for _, d := range s.revokedBy(l) {
		if d == l.Issuer || d == l.Subject || d == s.need.owner || l.issuedWithin(d) {
			return s.fail(ErrRevoked, l, "", height)
		}
	}
	if slices.Contains(s.forged, l) {
		return false
	}
	r := l.resolved.Load()
	if r.err != nil {
		return s.failWith(r.err, l, height)
	}
	if l.Format == JWT && r.depth > s.v.Limits.jwtDepth() {
		return s.fail(ErrTooDeep, l, "the chain has too many tokens (Limits.JWTDepth)", height)
	}
	for _, p := range r.parents {
		if !s.holds(p, height+1) {
			return false
		}
	}
	return true
}

// counts checks the conditions of a token that stands in the chain itself: its
// policy, and what the agents that signed it hold.
func (s *search) counts(l *Link, height int) bool {
	for _, holds := range l.policy {
		if holds(s.policyArgs()) != isTrue {
			return s.fail(ErrPolicy, l, "", height)
		}
	}
	for _, agent := range l.Agents {
		if set, known := s.agents[signedBy{l.Issuer, agent}]; known && !s.agentHolds(set) {
			return s.fail(ErrAgent, l, agent, height)
		}
	}
	return true
}

func (s *search) inTime(l *Link, height int) bool {
	t := &s.times
	switch {
	case t.ceil > l.exp:
		return s.fail(ErrExpired, l, "", height)
	case t.until > l.exp:
		return s.fail(ErrTimeBounds, l, "the proof ends at "+time.Unix(l.exp, 0).UTC().Format(time.RFC3339), height)
	case l.nbf != 0 && t.floor < l.nbf:
		return s.fail(ErrNotYetValid, l, "", height)
	case t.bounded && l.exp > t.horizon:
		return s.fail(ErrLifetime, l, "it never expires, or too far in the future (Limits.Life)", height)
	}
	return true
}

func (s *search) revokedBy(l *Link) []DID {
	brought := s.v.brought[l.CID]
	switch {
	case s.v.Store == nil:
		return brought
	case len(brought) == 0:
		return s.v.Store.revokersOf(l.CID)
	}
	return slices.Concat(s.v.Store.revokersOf(l.CID), brought)
}

func (s *search) agentHolds(a agentSet) bool {
	return a.set.Check(caps.Need(string(s.need.can), absolute(s.need.owner, s.need.path)).In(a.principal.s)).Allowed()
}

// doubt checks of a whole chain what is not checked of each token on the way. What
// it finds wrong it notes for the search, which has to begin again.
func (s *search) doubt(ctx context.Context, g *Grant) (again bool) {
	for i := range g.n {
		l := g.chain[i].link
		if !s.sealed(l, i+1) || !s.askAgents(ctx, l, i+1) {
			return true
		}
		for _, d := range s.revokedBy(l) {
			for j := i; j < g.n; j++ {
				if g.chain[j].link.issuedWithin(d) && !slices.Contains(s.revokers, d) {
					s.revokers = append(s.revokers, d)
					again = true
				}
			}
		}
	}
	return again
}

// sealed checks the signatures of a token and its proofs.
func (s *search) sealed(l *Link, height int) bool {
	if !l.verify() {
		s.forged = append(s.forged, l)
		return s.fail(ErrSignature, l, "", height)
	}
	for _, p := range l.resolved.Load().parents {
		if !s.sealed(p, height+1) {
			return false
		}
	}
	return true
}

// askAgents finds out what the agents hold that signed a token.
func (s *search) askAgents(ctx context.Context, l *Link, height int) bool {
	for _, agent := range l.Agents {
		by := signedBy{l.Issuer, agent}
		if _, known := s.agents[by]; known {
			continue
		}
		a := agentSet{set: caps.Unrestricted()}
		if s.v.Signer != nil {
			a.set, a.principal = s.v.Signer(ctx, l.Issuer, agent)
		}
		if s.agents == nil {
			s.agents = map[signedBy]agentSet{}
		}
		s.agents[by] = a
	}
	return s.counts(l, height)
}
