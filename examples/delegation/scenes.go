package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// work is what they do across namespaces.
func (s *stage) work(ctx context.Context) (err error) {
	if s.report.Work, err = s.each(ctx, s.plan.work); err != nil {
		return err
	}
	s.expect(s.report.Work)
	return nil
}

// widen is what they try to hand on beyond what they hold. It is refused
// before anything is signed, so nobody has a token more afterwards.
func (s *stage) widen(ctx context.Context) error {
	count := func() (n int, err error) {
		for _, m := range s.report.Cast {
			if m.Kind != isAgent {
				continue
			}
			more, err := s.issued(ctx, m.Name)
			if err != nil {
				return 0, err
			}
			n += more
		}
		return n, nil
	}
	var err error
	if s.report.Signed.Before, err = count(); err != nil {
		return err
	}
	if s.report.Widenings, err = s.each(ctx, s.plan.widen); err != nil {
		return err
	}
	if s.report.Signed.After, err = count(); err != nil {
		return err
	}
	s.expect(s.report.Widenings)
	for _, t := range s.report.Widenings {
		for _, why := range t.step.why {
			if !strings.Contains(t.Words, why.Error()) {
				s.report.unexpected("%s %s: the refusal says %q, want %q in it", t.Agent, t.Does, t.Words, why)
			}
		}
	}
	if n := s.report.Signed; n.Before != n.After {
		s.report.unexpected("the agents had signed %d tokens before the refusals and %d after", n.Before, n.After)
	}
	return nil
}

// revoke ends a link between two calls of one turn, and sees what is left.
func (s *stage) revoke(ctx context.Context) error {
	var ended []tried
	between := func() (err error) {
		if i := s.plan.revoke; i >= 0 {
			l := s.plan.links[i]
			ended, err = s.act(ctx, nil, step{
				agent: l.from, does: "revokes its link to the " + l.to, say: fmt.Sprintf(`call ucan_revoke {"cid":%q}`, s.cids[i]),
				needs: []need{{"ucan/revoke", "(any)"}}, want: allowed,
			})
		}
		return err
	}
	watched, err := s.act(ctx, between, s.plan.watch...)
	if err != nil {
		return err
	}
	after, err := s.each(ctx, s.plan.after)
	if err != nil {
		return err
	}
	s.report.Revocation = slices.Concat(watched[:1], ended, watched[1:], after)
	s.expect(s.report.Revocation)
	return nil
}

const delegated = "## Delegated to you\n"

// told is the part of an agent's prompt on what is delegated to it; empty
// where nothing is.
func (s *stage) told(ctx context.Context, agent string) (string, error) {
	b, err := s.member(agent).agent.Brief(ctx)
	if err != nil {
		return "", err
	}
	_, section, there := strings.Cut(b.System, delegated)
	if !there {
		return "", nil
	}
	section, _, _ = strings.Cut(section, "\n\n")
	return delegated + section, nil
}

// tell looks at what the model of the carrier is told: both links, no more.
func (s *stage) tell(ctx context.Context) (err error) {
	if s.report.Told, err = s.told(ctx, "carrier"); err != nil {
		return err
	}
	s.lists("carrier", s.report.Told, toCarrier, fromBob)
	return nil
}

// lists checks that a section of a prompt lists these links alone.
func (s *stage) lists(agent, section string, links ...int) {
	if n := strings.Count(section, "\n- "); n != len(links) {
		s.report.unexpected("the prompt of %s lists %d delegations, want %d", agent, n, len(links))
	}
	for _, i := range links {
		l := s.plan.links[i]
		resource := strings.TrimSuffix(braced(l.on), "/")
		if want := "\n- " + l.can + " on " + resource + " (from {" + ownerOf(l.on) + "}, until "; !strings.Contains(section, s.toDID.Replace(want)) {
			s.report.unexpected("the prompt of %s does not list %s on %s", agent, l.can, l.on)
		}
	}
}

// look reads what is stored in the end, as its owners, and the prompts.
func (s *stage) look(ctx context.Context) error {
	auditor, err := s.told(ctx, "auditor")
	if err != nil {
		return err
	}
	s.lists("auditor", auditor)
	carrier, err := s.told(ctx, "carrier")
	if err != nil {
		return err
	}
	s.lists("carrier", carrier, fromBob)
	s.report.ToldAfter.Auditor, s.report.ToldAfter.Carrier = auditor, carrier
	for _, k := range s.plan.kept {
		owner, path, _ := strings.Cut(k.On, "/")
		raw, err := s.member(owner).user.Invoke(ctx, "covia:read", object{"path": path})
		if err != nil {
			return err
		}
		var got struct{ Value json.RawMessage }
		if err := json.Unmarshal(raw, &got); err != nil {
			return err
		}
		var text string
		if json.Unmarshal(got.Value, &text) != nil || text != k.Value {
			s.report.unexpected("%s is %s in the end, want %q", k.On, got.Value, k.Value)
		}
		s.report.Kept = append(s.report.Kept, kept{k.On, text})
	}
	return nil
}
