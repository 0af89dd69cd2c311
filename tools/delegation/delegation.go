// Package delegation has the operations on UCAN tokens: ucan:issue, delegate,
// revoke, import, export, verify, list, revocations and whoami. [Operations] returns them over
// a [Desk], which the venue fills in.
//
// What a call hands on it must hold: the gate checks the caller's capabilities
// for each one that is handed on, and the desk that the principal behind the
// caller owns it or has it by a chain. What a call does with a token is bounded by
// the resources of the token, as far as the caller's capabilities name these.
package delegation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
)

// Abilities of the operations (COG-13, "Standard Abilities"; ucan/read is ours).
const (
	canDelegate = "ucan/delegate"
	canRevoke   = "ucan/revoke"
	canRead     = "ucan/read"
)

// DefaultLife is how long a delegation holds at most where nobody says.
const DefaultLife = 24 * time.Hour

// Ticks is how much sooner than asked a token may end that was to live as long as
// the one it rests on: time passes between the two.
const Ticks = time.Minute

// Desk signs, keeps and judges the tokens of a venue. It acts for the owner of a
// call: a user, or an independent agent.
type Desk struct {
	Verifier *ucan.Verifier // with its clock and its store
	Venue    ucan.Key       // signs what ucan:issue makes
	// Key returns the key of a principal.
	Key  func(ctx context.Context, principal ucan.DID) (ucan.Key, error)
	Rand io.Reader
	Life time.Duration // the longest of what an agent hands on
}

// Token describes a token.
type Token struct {
	CID          string            `json:"cid"`
	Token        string            `json:"token,omitempty"` // a JWT, or a UCAN 1.0 delegation in base64url multibase
	Format       string            `json:"format"`
	Issuer       string            `json:"issuer"`
	Audience     string            `json:"audience"`
	Capabilities []caps.Capability `json:"capabilities"`
	Policy       ucan.Policy       `json:"policy,omitempty"`  // what it says beyond the resource of these
	Expires      string            `json:"expires,omitempty"` // RFC 3339
	Agents       []string          `json:"agents,omitempty"`  // the lives of the agents that signed it
	Direction    string            `json:"direction,omitempty"`
	Revoked      bool              `json:"revoked,omitempty"`
}

// Directions of a listed token.
const (
	received = "received"
	issued   = "issued"
)

// Describe returns what there is to say about a token; text adds the token itself.
func Describe(l *ucan.Link, text bool) Token {
	t := Token{
		CID: l.CID.String(), Format: string(l.Format), Issuer: l.Issuer.String(), Audience: l.Audience.String(),
		Capabilities: l.Capabilities(), Policy: l.Policy(), Agents: l.Agents,
	}
	if exp := l.Expires(); !exp.IsZero() {
		t.Expires = exp.Format(time.RFC3339)
	}
	if text {
		t.Token = l.Text()
	}
	return t
}

// Operations returns the token operations over a desk.
func Operations(d *Desk) []*tools.Operation {
	return []*tools.Operation{
		op("ucan:issue", "Issue a token for authority in your own namespace, signed by the venue.", canDelegate,
			d.issue, func(in issueInput) []caps.Request { return handOn(in.Attenuations) }, tools.Exclusive()),
		op("ucan:delegate", "Hand on authority that you hold, as tokens signed by your own key.", canDelegate,
			d.delegate, func(in delegateInput) []caps.Request { return handOn(in.Capabilities) }, tools.Exclusive()),
		op("ucan:revoke", "Revoke a token that you issued or whose resources you own, and all that was delegated from it.", canRevoke,
			d.revoke, nil, tools.Idempotent(), tools.Exclusive()),
		op("ucan:import", "Store tokens that came from elsewhere, so that calls can rest on them.", canDelegate,
			d.take, nil, tools.Idempotent(), tools.Exclusive()),
		op("ucan:verify", "Say whether tokens carry an authority, and by which chain.", canRead,
			d.verify, nil, tools.ReadOnly()),
		op("ucan:export", "Give out a token with the chain that carries it, and the revocations in it, for use elsewhere.", canRead,
			d.export, nil, tools.ReadOnly()),
		op("ucan:whoami", "Say who you are: the DID that you act as, and that of the venue.", canRead,
			d.whoami, nil, tools.ReadOnly()),
		op("ucan:list", "List the tokens that you received and issued.", canRead,
			d.list, nil, tools.ReadOnly()),
		op("ucan:revocations", "List the revocations that the venue knows, in the order in which they came, for whoever follows them.", canRead,
			d.feed, feedQuery.needs, tools.ReadOnly()),
	}
}

// op is an operation that needs an ability: that alone where needs is nil, as what a
// token grants, which bounds the call, is known when it is read.
func op[In, Out any](name, description, can string, run func(context.Context, tools.Call, In) (Out, error), needs func(In) []caps.Request, opts ...tools.Option) *tools.Operation {
	if needs == nil {
		needs = func(In) []caps.Request { return []caps.Request{caps.NeedAbility(can)} }
	}
	return tools.New(name, description, needs, run, append(opts, tools.Within(caps.ScopeAbility(can)))...)
}

// handOn requires the caller to hold what it hands on.
func handOn(list []caps.Capability) []caps.Request {
	needs := []caps.Request{caps.NeedAbility(canDelegate)}
	for _, c := range list {
		needs = append(needs, caps.NeedHolding(c))
	}
	return needs
}

// tokenInput names a token.
type tokenInput struct {
	CID ucan.CID `json:"cid" jsonschema:"the token"`
}

// checkReach refuses a call whose capabilities do not reach to all that a token gives.
// One that is not known, nil, can say anything, and needs the whole namespace.
func (d *Desk) checkReach(ctx context.Context, call tools.Call, ability caps.Ability, token *ucan.Link) error {
	root, _ := caps.ParseResource("")
	needs := []caps.Request{caps.NeedOn(ability, root)}
	if token != nil {
		gives, err := d.Verifier.Effective(ctx, token)
		if err != nil {
			return err
		}
		if len(gives) > 0 {
			needs = needs[:0]
		}
		for _, c := range gives {
			needs = append(needs, caps.NeedOn(ability, c.Resource()))
		}
	}
	for _, need := range needs {
		if denial := call.Check(need); denial != nil {
			return denial
		}
	}
	return nil
}

// find returns a token, nil for one that is not stored.
func (d *Desk) find(ctx context.Context, c ucan.CID) (*ucan.Link, error) {
	l, err := d.Verifier.Store.Get(ctx, c)
	if errors.Is(err, ucan.ErrMissingProof) {
		return nil, nil
	}
	return l, err
}

// Identity answers ucan:whoami.
type Identity struct {
	DID   ucan.DID `json:"did"`
	Venue ucan.DID `json:"venue"`
	Agent string   `json:"agent,omitempty"`
}

func (d *Desk) whoami(_ context.Context, call tools.Call, _ struct{}) (Identity, error) {
	return Identity{call.Owner(), d.Venue.DID(), call.Actor()}, nil
}

func parseTime(field, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%s %q: write it as 2026-12-31T00:00:00Z", field, s)
	}
	return t, nil
}
