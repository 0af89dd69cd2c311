package ucan

import (
	"context"
	"slices"
	"time"

	"usher/caps"
)

// holds checks a token, and all that a JWT names as its proofs, used or not:
// COG-13 verifies each parent, recursively.
func (s *search) holds(l *Link, height int) bool {
	if !s.inTime(l, height) {
		return false
	}
	for _, d := range s.revokersOf(l) {
		if d == l.Issuer || d == l.Subject || d == s.need.owner || l.isIssuedWithin(d) {
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

// isExpired reports whether a last second is over.
func isExpired(exp int64, now time.Time) bool { return exp != never && now.After(time.Unix(exp, 0)) }

func (s *search) inTime(l *Link, height int) bool {
	life := s.v.Limits.life()
	switch {
	case isExpired(l.exp, s.now):
		return s.fail(ErrExpired, l, "", height)
	case l.exp < s.query.until:
		return s.fail(ErrTimeBounds, l, "the proof ends at "+l.Expires().Format(time.RFC3339), height)
	case l.nbf != 0 && s.now.Before(time.Unix(l.nbf, 0)):
		return s.fail(ErrNotYetValid, l, "", height)
	case life >= 0 && l.exp > s.now.Add(life).Unix():
		return s.fail(ErrLifetime, l, "it never expires, or too far in the future (Limits.Life)", height)
	}
	return true
}

func (s *search) revokersOf(l *Link) []DID {
	brought := s.v.brought[l.CID]
	switch {
	case s.v.Store == nil:
		return brought
	case len(brought) == 0:
		return s.v.Store.revokersOf(l.CID)
	}
	return slices.Concat(s.v.Store.revokersOf(l.CID), brought)
}

// isDisowned reports whether the owner of each resource that a token grants has revoked it.
func (s *search) isDisowned(l *Link) bool {
	by := s.revokersOf(l)
	return !slices.ContainsFunc(l.grants, func(g grant) bool { return g.passes || !slices.Contains(by, g.owner) })
}

// counts checks the conditions of a token that stands in the chain itself: its
// policy, and what the agents that signed it hold now.
func (s *search) counts(ctx context.Context, l *Link, height int) bool {
	for _, holds := range l.policy {
		if holds(s.policyArgs()) != isTrue {
			return s.fail(ErrPolicy, l, "", height)
		}
	}
	for _, agent := range l.Agents {
		if s.v.Signer != nil && !s.agentHolds(ctx, agentSignature{l.Issuer, l.Audience, agent}) {
			return s.fail(ErrAgent, l, agent, height)
		}
	}
	return true
}

// agentHolds asks for an agent once a search.
func (s *search) agentHolds(ctx context.Context, by agentSignature) bool {
	holds, known := s.agents[by]
	if !known {
		set, principal := s.v.Signer(ctx, by.issuer, by.audience, by.agent)
		d := set.Check(caps.Need(string(s.need.can), absolute(s.need.owner, s.need.path)).In(principal.s))
		if d.Open() {
			d = d.Settle(caps.Facts{Now: s.now, Input: s.inputValue()})
		}
		holds = d.IsAllowed()
		if s.agents == nil {
			s.agents = map[agentSignature]bool{}
		}
		s.agents[by] = holds
	}
	return holds
}

// doubt checks of a whole chain what is not checked of each token on the way. What
// it finds wrong it notes for the search, which has to begin again.
func (s *search) doubt(g *Grant) (again bool) {
	for i := range g.n {
		l := g.chain[i].link
		if !s.checkSignatures(l, i+1) {
			return true
		}
		for _, d := range s.revokersOf(l) {
			for j := i; j < g.n; j++ {
				if g.chain[j].link.isIssuedWithin(d) && !slices.Contains(s.revokers, d) {
					s.revokers = append(s.revokers, d)
					again = true
				}
			}
		}
	}
	return again
}

// checkSignatures checks the signatures of a token and its proofs.
func (s *search) checkSignatures(l *Link, height int) bool {
	if !l.verify() {
		s.forged = append(s.forged, l)
		return s.fail(ErrSignature, l, "", height)
	}
	for _, p := range l.resolved.Load().parents {
		if !s.checkSignatures(p, height+1) {
			return false
		}
	}
	return true
}
