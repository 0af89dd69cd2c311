// Package delegation has the operations on UCAN tokens: ucan:issue, delegate,
// revoke, import, export, verify, list and whoami. [Operations] returns them over
// a [Service], which the venue has.
//
// What a call hands on it must hold: the gate checks the caller's capabilities
// for each one that is handed on, and the service that the principal behind the
// caller owns it or has it by a chain.
package delegation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
)

// Abilities of the operations (COG-13, "Standard Abilities"; ucan/read is ours).
const (
	canDelegate = "ucan/delegate"
	CanRevoke   = "ucan/revoke"
	CanRead     = "ucan/read"
)

// DefaultLife is how long a delegation holds at most where nobody says.
const DefaultLife = 24 * time.Hour

// Request asks for tokens.
type Request struct {
	Audience     ucan.DID
	Capabilities []caps.Capability
	NotBefore    time.Time // zero is at once
	Expires      time.Time
	Shorten      time.Duration // how much sooner it may end, with its proofs; negative is any time
	Proofs       []ucan.CID    // none: found in the store
	Format       ucan.Format
	Inline       bool // put the proofs of a JWT inside it
}

// Token describes a token.
type Token struct {
	CID          string            `json:"cid"`
	Token        string            `json:"token,omitempty"` // a JWT, or a UCAN 1.0 delegation in base64url multibase
	Format       string            `json:"format"`
	Issuer       string            `json:"issuer"`
	Audience     string            `json:"audience"`
	Capabilities []caps.Capability `json:"capabilities"`
	Expires      string            `json:"expires,omitempty"` // RFC 3339
	Agents       []string          `json:"agents,omitempty"`  // the lives of the agents that signed it
	Direction    string            `json:"direction,omitempty"`
	Revoked      bool              `json:"revoked,omitempty"`
}

// Directions of a listed token.
const (
	Received = "received"
	Issued   = "issued"
)

// Verdict answers ucan:verify.
type Verdict struct {
	Decision string  `json:"decision"` // allow or deny
	Reason   string  `json:"reason"`
	Chain    []Token `json:"chain"`
	Aside    []Aside `json:"aside,omitempty"`
}

// Aside is a token that is not understood, by its place in the input. It refuses
// nothing that the others allow.
type Aside struct {
	Token  int    `json:"token"`
	Reason string `json:"reason"`
}

// Question asks whether tokens carry an authority.
type Question struct {
	Tokens []*ucan.Link
	Caller ucan.DID
	Owner  ucan.DID // of a bare resource; zero is the calling principal
	Need   caps.Request
	At     time.Time // zero is now
}

// Service is what the operations need of a venue. It acts for call.Owner().
type Service interface {
	// Issue signs with the venue's key, in the namespace of the caller.
	Issue(ctx context.Context, call tools.Call, r Request) (*ucan.Link, error)
	// Delegate signs with the caller's key.
	Delegate(ctx context.Context, call tools.Call, r Request) ([]*ucan.Link, error)
	// Revoke reports whether the token is known here; what is not counts from when
	// it comes.
	Revoke(ctx context.Context, call tools.Call, cid ucan.CID) (known bool, err error)
	Import(ctx context.Context, call tools.Call, links []*ucan.Link, revocations []*ucan.Revocation) error
	// Export returns a token with the chain that carries it and the revocations in
	// it, as texts.
	Export(ctx context.Context, call tools.Call, cid ucan.CID) ([]string, error)
	Verify(ctx context.Context, call tools.Call, q Question) (ucan.Grant, []*ucan.Link, error)
	List(ctx context.Context, call tools.Call, received, issued bool) ([]Token, error)
	// Venue is the DID of the venue.
	Venue() ucan.DID
}

// Describe returns what there is to say about a token; text adds the token itself.
func Describe(l *ucan.Link, text bool) Token {
	t := Token{CID: l.CID().String(), Format: l.Format().String(), Issuer: l.Issuer().String(), Audience: l.Audience().String(), Agents: l.Agents()}
	for c := range l.Capabilities() {
		t.Capabilities = append(t.Capabilities, c)
	}
	if exp, ok := l.Expires(); ok {
		t.Expires = exp.Format(time.RFC3339)
	}
	if text {
		t.Token = ucan.Text(l)
	}
	return t
}

// Bounded returns the denial of a call that has the ability for none, or not for
// all, of the capabilities of a token: a caller deals in the tokens of the
// resources that its own capabilities name. A token that is not known can say
// anything, and needs the whole namespace.
func Bounded(call tools.Call, ability caps.Ability, list []caps.Capability) *caps.Denial {
	root, _ := caps.ParseResource("")
	needs := []caps.Request{caps.NeedOn(ability, root)}
	if len(list) > 0 {
		needs = needs[:0]
	}
	for _, c := range list {
		needs = append(needs, caps.NeedOn(ability, c.Resource()))
	}
	for _, need := range needs {
		if d := call.Caps().Check(need.In(call.Owner().String())); !d.Allowed() {
			return d.Denial(call.Operation())
		}
	}
	return nil
}

func parseDID(field, s string) (ucan.DID, error) {
	if s == "" {
		return ucan.DID{}, errors.New(field + " is missing: give the DID of who receives the authority")
	}
	did, err := ucan.ParseDID(s)
	if err != nil {
		return ucan.DID{}, fmt.Errorf("%s: %w", field, err)
	}
	return did, nil
}

// handOn requires the caller to hold what it hands on.
func handOn(ability string, list []caps.Capability) []caps.Request {
	needs := []caps.Request{caps.NeedAbility(ability)}
	for _, c := range list {
		needs = append(needs, caps.NeedHeld(c))
	}
	return needs
}
