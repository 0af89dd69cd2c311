package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/delegation"
)

// delegate makes the links: users in person, agents by a tool call.
func (s *stage) delegate(ctx context.Context) error {
	for _, l := range s.links {
		var out struct{ Tokens []delegation.Token }
		if s.users[l.from] != nil {
			if err := s.ask(ctx, l.from, &out, "ucan:delegate", json.RawMessage(s.spell.Replace(l.input()))); err != nil {
				return fmt.Errorf("%w: %s delegates to %s: %w", errUnexpected, l.from, l.to, err)
			}
		} else {
			done, err := s.turn(ctx, nil, handOn("delegates to "+l.to, l))
			if err != nil {
				return err
			}
			_ = json.Unmarshal(done[0].Result, &out) // no token where it was refused
		}
		if len(out.Tokens) != 1 {
			return fmt.Errorf("%w: %s", errUnexpected, strings.Join(append(s.Unexpected, l.from+" has no token for "+l.to), "; "))
		}
		cid := out.Tokens[0].CID
		s.cids, s.names = append(s.cids, cid), append(s.names, cid, short(cid))
	}
	return nil
}

// short is the end of a CID: the beginnings are all alike.
func short(cid string) string { return "…" + cid[max(0, len(cid)-6):] }

// linked is one token in a chain.
type linked struct {
	CID        string          `json:"cid"`
	From       string          `json:"from"`
	To         string          `json:"to"`
	Capability caps.Capability `json:"capability"`
	Expires    string          `json:"expires"`
	Narrows    []string        `json:"narrows"` // what is less than in the link before
}

// chains asks for the chains that the story rests on, before anything is done
// by them: root first.
func (s *stage) chains(ctx context.Context) error {
	for _, leaf := range s.leaves {
		l := s.links[leaf]
		var v delegation.Verdict
		err := s.ask(ctx, l.owner(), &v, "ucan:verify", object{"caller": s.spell.Replace("{" + l.to + "}"), "can": l.can, "with": s.spell.Replace(l.on)})
		if err != nil {
			return err
		}
		if v.Decision != tools.Allowed {
			s.unexpected("%s on %s for %s: %s", l.can, l.on, l.to, v.Reason)
		}
		slices.Reverse(v.Chain)
		s.Chains = append(s.Chains, s.chain(v.Chain))
	}
	return nil
}

// chain describes a chain, root first, and checks each link against the one
// before: nowhere more, somewhere less.
func (s *stage) chain(tokens []delegation.Token) (out []linked) {
	for i, t := range tokens {
		l := linked{t.CID, s.plain(t.Issuer), s.plain(t.Audience), t.Capabilities[0], t.Expires, []string{}}
		if i > 0 {
			before := out[i-1]
			if l.Narrows = narrower(before, l); len(l.Narrows) == 0 || !before.Capability.Covers(l.Capability) || l.From != before.To {
				s.unexpected("the link from %s to %s does not narrow the one before", l.From, l.To)
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

// act is what they do: they work across namespaces, they try to hand on more than
// they hold, and a link ends between two calls of one turn.
func (s *stage) act(ctx context.Context) (err error) {
	if err := s.told(ctx, "carrier", 2); err != nil {
		return err
	}
	if s.Work, err = s.each(ctx, s.work); err != nil {
		return err
	}
	if s.Signed[0], err = s.signed(ctx); err != nil {
		return err
	}
	if s.Widenings, err = s.each(ctx, s.widen); err != nil {
		return err
	}
	if s.Signed[1], err = s.signed(ctx); err != nil {
		return err
	}
	if s.Signed[0] != s.Signed[1] { // a refusal signs nothing
		s.unexpected("the agents had signed %d tokens before the refusals and %d after", s.Signed[0], s.Signed[1])
	}
	var ended []step
	watched, err := s.turn(ctx, func() (err error) {
		if s.revoke >= 0 {
			l := s.links[s.revoke]
			ended, err = s.turn(ctx, nil, does(l.from, "revokes its link to the "+l.to, fmt.Sprintf(`call ucan_revoke {"cid":%q}`, s.cids[s.revoke])))
		}
		return err
	}, s.watch...)
	if err != nil {
		return err
	}
	after, err := s.each(ctx, s.after)
	s.Revocation = slices.Concat(watched[:1], ended, watched[1:], after)
	return err
}

// signed counts the tokens that the agents have signed.
func (s *stage) signed(ctx context.Context) (n int, err error) {
	for name := range s.agents {
		done, err := s.turn(ctx, nil, does(name, "lists its tokens", `call ucan_list {"issued":true}`))
		if err != nil {
			return 0, err
		}
		var list struct{ Tokens []delegation.Token }
		if err := json.Unmarshal(done[0].Result, &list); err != nil {
			return 0, fmt.Errorf("list the tokens of %s: %s: %w", name, done[0].Words, err)
		}
		n += len(list.Tokens)
	}
	return n, nil
}

// told notes the part of an agent's prompt on what is delegated to it, which must
// list so many.
func (s *stage) told(ctx context.Context, agent string, want int) error {
	b, err := s.agents[agent].Brief(ctx)
	if err != nil {
		return err
	}
	_, section, _ := strings.Cut(b.System, "## Delegated to you\n")
	section, _, _ = strings.Cut(section, "\n\n")
	if n := strings.Count(section, "\n- "); n != want {
		s.unexpected("the prompt of %s lists %d delegations, want %d", agent, n, want)
	}
	s.Told = append(s.Told, section)
	return nil
}

// look reads what is stored in the end, as its owners, and the prompts.
func (s *stage) look(ctx context.Context) error {
	if err := s.told(ctx, "carrier", 1); err != nil {
		return err
	}
	if err := s.told(ctx, "auditor", 0); err != nil {
		return err
	}
	for _, k := range s.kept {
		var got struct{ Value any }
		if err := s.ask(ctx, k.owner, &got, "covia:read", object{"path": k.path}); err != nil {
			return err
		}
		if got.Value != k.value {
			s.unexpected("%s/%s is %v in the end, want %q", k.owner, k.path, got.Value, k.value)
		}
	}
	return nil
}

// audit has the venue sign its ledger, and checks all of it against that.
func (s *stage) audit(ctx context.Context) error {
	if _, err := s.v.Ledger().Checkpoint(ctx); err != nil {
		return err
	}
	found, err := s.v.Ledger().Verify(ctx)
	if s.Rows, s.Verified = found.Rows, err == nil; err != nil {
		s.unexpected("the audit ledger: %v", err)
	}
	return ctx.Err()
}
