package visitors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"usher/venue/config"
)

// isFresh reports whether a person has signed in a moment ago, as who knows says.
func (r *Room) isFresh(who Person) bool {
	return !who.Since.IsZero() && r.Now().Sub(who.Since) <= freshLife
}

// strong reports whether the person is known well enough for what they approve. Where a passkey
// has confirmed it, the change counts that.
func (r *Room) strong(ctx context.Context, c *change, who Person, q *Question, said *Answer, nonce []byte) error {
	passkey := ""
	for i := range q.Pending {
		g := &q.Pending[i]
		if !said.approves(g) {
			continue
		}
		of := r.set.Load().grant[g.Capability]
		if of == nil { // which is not issued
			continue
		}
		switch of.Approval {
		case "", config.ApprovalNone:
		case config.ApprovalSession:
			if !r.isFresh(who) {
				return refuse(freshSession, "%s takes a person who has signed in within 5 minutes: sign in again, then approve", of.Name)
			}
		default:
			passkey = of.Name
		}
	}
	switch {
	case passkey == "":
		return nil
	case nonce == nil:
		return refuse(WebauthnRequired, "%s takes a passkey of yours: approve it on the page of the venue, /agent/device, where your browser asks for it", passkey)
	}
	what, err := r.approval(who, q, said)
	if err != nil {
		return err
	}
	p, err := r.passkeys(ctx, who.DID)
	if err != nil {
		return err
	}
	if len(p.Keys) == 0 {
		return refuse(WebauthnNone, "%s takes a passkey, and you have none here", passkey)
	}
	if err := r.confirm(ctx, who.DID, p, challenge(nonce, what), said.Passkey); err != nil {
		return err
	}
	c.passkeys(p)
	return nil
}

// AskApproval is what a browser asks the passkeys of a person, as it takes it, so that one of
// them confirms their word: exactly that, for what is asked now.
func (r *Room) AskApproval(ctx context.Context, who Person, which Which, said Answer) (out json.RawMessage, err error) {
	err = r.askPasskey(ctx, who.DID, func(p *passkeys) error {
		q, err := r.find(ctx, who, which)
		if err != nil {
			return err
		}
		if len(p.Keys) == 0 {
			return refuse(WebauthnNone, "this takes a passkey, and you have none here: make one, then approve")
		}
		what, err := r.approval(who, q, &said)
		if err == nil {
			out, err = p.party.Ask(challenge(p.Nonce, what), p.Keys)
		}
		return err
	})
	return out, r.countGuess(ctx, who, which.Agent, err)
}

// approval is all that a person approves: what a passkey confirms.
type approval struct {
	Purpose      string       `json:"purpose"`
	Person       string       `json:"person"`
	Agent        string       `json:"agent"`
	AgentKey     string       `json:"agent_key"`
	Host         string       `json:"host"`
	HostKey      string       `json:"host_key"`
	AgentJWKS    string       `json:"agent_jwks"`
	HostJWKS     string       `json:"host_jwks"`
	Links        bool         `json:"links"` // the host is the person's from then on
	Kind         string       `json:"kind"`
	Created      int64        `json:"created"` // of the request
	Code         string       `json:"code"`
	Request      string       `json:"request"`
	Capabilities []grantDraft `json:"capabilities"`
	Until        int64        `json:"until"` // ms; the zero time for none
	Lasts        int64        `json:"lasts"` // ns
}

// grantDraft is one of the capabilities, as it is granted.
type grantDraft struct {
	Name        string      `json:"name"`
	Operation   string      `json:"operation"`
	Location    string      `json:"location"`
	Gives       []string    `json:"gives"`
	Within      []string    `json:"within"`
	Constraints Constraints `json:"constraints"`
}

func (r *Room) approval(who Person, q *Question, said *Answer) (*approval, error) {
	a, h := q.Agent, q.Host
	out := &approval{
		Purpose: purposeApprove, Person: who.DID.String(), Agent: a.ID, AgentKey: a.Key.String(), Host: h.ID, HostKey: h.Key.String(),
		AgentJWKS: a.JWKS, HostJWKS: h.JWKS, Links: h.User.IsZero(), Kind: q.Ask.Kind, Created: q.Ask.Created, Code: q.Ask.Code, Request: q.Ask.Request,
		Until: said.Until.UnixMilli(), Lasts: int64(said.Lasts),
	}
	s := r.set.Load()
	for i := range q.Pending {
		g := &q.Pending[i]
		if !said.approves(g) {
			continue
		}
		one, err := s.grantOf(g, said.Capabilities[g.Capability])
		if err != nil {
			return nil, err
		}
		out.Capabilities = append(out.Capabilities, *one)
	}
	slices.SortStableFunc(out.Capabilities, func(a, b grantDraft) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// grantOf returns a capability that is asked for, as it is granted within further limits.
func (s *settings) grantOf(g *Grant, within Constraints) (*grantDraft, error) {
	of := s.grant[g.Capability]
	if of == nil {
		return nil, refuse(invalidCaps, "there is no capability %s any more", g.Capability)
	}
	limits, err := g.Constraints.and(within)
	if err == nil {
		limits, err = limits.and(of.imposed)
	}
	if err != nil {
		return nil, err
	}
	one := &grantDraft{Name: of.Name, Operation: of.Operation, Location: of.Location, Constraints: limits}
	for _, c := range of.needs {
		one.Gives = append(one.Gives, c.String())
	}
	for _, c := range of.within {
		one.Within = append(one.Within, c.String())
	}
	return one, nil
}

// terms are digests, by their names, of what the capabilities would give that an agent asks for: who
// looks at one approves that.
func (s *settings) terms(asked []Grant) map[string]string {
	all := map[string]string{}
	for i := range asked {
		if asked[i].Status == Pending {
			all[asked[i].Capability] = s.termsOf(&asked[i])
		}
	}
	return all
}

func (s *settings) termsOf(g *Grant) string {
	one, err := s.grantOf(g, Constraints{})
	if err != nil { // it would give nothing
		return ""
	}
	sum := sha256.Sum256(encode(one))
	return b64.EncodeToString(sum[:])
}
