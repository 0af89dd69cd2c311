package delegation

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/delegation"
)

// linked is one token in a chain.
type linked struct {
	CID        string          `json:"cid"`
	From       string          `json:"from"`
	To         string          `json:"to"`
	Capability caps.Capability `json:"capability"`
	Expires    string          `json:"expires"`
	Narrows    []string        `json:"narrows"` // what is less than in the link before

	token delegation.Token
}

// chains asks for the chains that the story rests on, before anything is done
// by them: root first.
func (s *stage) chains(ctx context.Context) error {
	for _, leaf := range []int{toAuditor, fromBob} {
		l := s.plan.links[leaf]
		owner, path, _ := strings.Cut(l.on, "/")
		raw, err := s.member(owner).user.Invoke(ctx, "ucan:verify", object{"caller": s.member(l.to).DID, "can": l.can, "with": path})
		if err != nil {
			return err
		}
		var v delegation.Verdict
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		if v.Decision != tools.Allowed {
			s.report.unexpected("%s on %s for %s: %s", l.can, l.on, l.to, v.Reason)
		}
		slices.Reverse(v.Chain)
		c := s.chain(v.Chain)
		got := make([]string, len(c))
		for i := range c {
			got[len(c)-1-i] = c[i].CID
		}
		if want := s.proofs(l.to, l.on); !slices.Equal(got, want) {
			s.report.unexpected("the chain to %s is %s, want %s", l.to, got, want)
		}
		s.report.Chains = append(s.report.Chains, c)
	}
	return nil
}

// chain describes a chain, root first, and checks each link against the one
// before: nowhere more, somewhere less.
func (s *stage) chain(tokens []delegation.Token) []linked {
	var out []linked
	for i, t := range tokens {
		if len(t.Capabilities) != 1 {
			s.report.unexpected("token %s has %d capabilities, want 1", t.CID, len(t.Capabilities))
			continue
		}
		l := linked{t.CID, s.name(t.Issuer), s.name(t.Audience), t.Capabilities[0], t.Expires, []string{}, t}
		if i > 0 && len(out) == i {
			before := out[i-1]
			if l.Narrows = narrower(before, l); len(l.Narrows) == 0 || !before.Capability.Covers(l.Capability) || t.Issuer != before.token.Audience {
				s.report.unexpected("the link from %s to %s does not narrow the one before", l.From, l.To)
			}
		}
		out = append(out, l)
	}
	return out
}

// narrower names the parts in which a link is less than the one before.
func narrower(before, l linked) []string {
	parts := []string{}
	if before.Capability.Resource() != l.Capability.Resource() {
		parts = append(parts, "resource")
	}
	if before.Capability.Can() != l.Capability.Can() {
		parts = append(parts, "ability")
	}
	if l.Expires < before.Expires { // RFC 3339 in UTC sorts as time does
		parts = append(parts, "time")
	}
	return parts
}

func (s *stage) name(did string) string {
	for _, m := range s.report.Cast {
		if m.DID == did {
			return m.Name
		}
	}
	return did
}

// proofs are the CIDs, the caller's own first, by which the plan lets an agent
// at a resource; nil where it does not.
func (s *stage) proofs(agent, on string) []string {
	var out []string
	owner, to := ownerOf(on), agent
	for range s.plan.links {
		i := slices.IndexFunc(s.plan.links, func(l link) bool { return l.to == to && ownerOf(l.on) == owner })
		if i < 0 {
			return nil
		}
		out = append(out, s.cids[i])
		if to = s.plan.links[i].from; to == owner {
			return out
		}
	}
	return nil
}
