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

// Operations returns the token operations over s.
func Operations(s Service) []*tools.Operation {
	return append(sign(s), read(s)...)
}

// issueInput takes COG-13's names and the JWT's own for the same things.
type issueInput struct {
	Audience     string            `json:"audience,omitempty" jsonschema:"DID that receives the authority"`
	Aud          string            `json:"aud,omitempty" jsonschema:"the same as audience"`
	Attenuations []caps.Capability `json:"attenuations,omitempty" jsonschema:"capabilities in your own namespace"`
	Att          []caps.Capability `json:"att,omitempty" jsonschema:"the same as attenuations"`
	Expiry       *int64            `json:"expiry,omitempty" jsonschema:"when it ends, in milliseconds since 1970"`
	Exp          *int64            `json:"exp,omitempty" jsonschema:"when it ends, in seconds since 1970"`
}

type issueOutput struct {
	Token   string `json:"token"`
	CID     string `json:"cid"`
	Issuer  string `json:"issuer"`
	Expires string `json:"expires"`
}

func (in *issueInput) capabilities() []caps.Capability {
	if len(in.Att) > 0 {
		return in.Att
	}
	return in.Attenuations
}

func (in *issueInput) request() (Request, error) {
	switch {
	case in.Audience != "" && in.Aud != "":
		return Request{}, errors.New("audience and aud mean the same: give one")
	case len(in.Attenuations) > 0 && len(in.Att) > 0:
		return Request{}, errors.New("attenuations and att mean the same: give one")
	case in.Expiry != nil && in.Exp != nil:
		return Request{}, errors.New("expiry (milliseconds) and exp (seconds) mean the same: give one")
	case in.Expiry == nil && in.Exp == nil:
		return Request{}, errors.New("expiry is missing: say when the token ends, as expiry in milliseconds or exp in seconds")
	case len(in.capabilities()) == 0:
		return Request{}, errors.New("attenuations is missing: list the capabilities that you hand on")
	}
	audience, err := parseDID("audience", in.Audience+in.Aud)
	if err != nil {
		return Request{}, err
	}
	r := Request{Audience: audience, Capabilities: in.capabilities(), Format: ucan.JWT}
	if in.Exp != nil {
		r.Expires = time.Unix(*in.Exp, 0)
	} else {
		r.Expires = time.UnixMilli(*in.Expiry)
	}
	return r, nil
}

type delegateInput struct {
	Audience     string            `json:"audience" jsonschema:"DID that receives the authority"`
	Capabilities []caps.Capability `json:"capabilities" jsonschema:"what it receives; bare resources are in your own namespace"`
	Expires      string            `json:"expires,omitempty" jsonschema:"when it ends, RFC 3339"`
	TTL          string            `json:"ttl,omitempty" jsonschema:"how long it holds, for example 8h; instead of expires; with neither, 24h or as long as what it rests on"`
	NotBefore    string            `json:"notBefore,omitempty" jsonschema:"when it begins, RFC 3339"`
	Proofs       []string          `json:"proofs,omitempty" jsonschema:"CIDs of the tokens that you hold it by; left out, they are found"`
	Format       string            `json:"format,omitempty" jsonschema:"native (UCAN 1.0, the default) or jwt"`
	Inline       bool              `json:"inline,omitempty" jsonschema:"put the proofs of a JWT inside it"`
}

type delegateOutput struct {
	Tokens []Token `json:"tokens"`
}

func (in *delegateInput) request(now time.Time) (Request, error) {
	audience, err := parseDID("audience", in.Audience)
	if err != nil {
		return Request{}, err
	}
	r := Request{Audience: audience, Capabilities: in.Capabilities, Inline: in.Inline}
	switch in.Format {
	case "", "native":
		r.Format = ucan.Native
	case "jwt":
		r.Format = ucan.JWT
	default:
		return Request{}, fmt.Errorf("format %q: write native or jwt", in.Format)
	}
	if len(in.Capabilities) == 0 {
		return Request{}, errors.New("capabilities is missing: list what you hand on")
	}
	switch {
	case in.Expires != "" && in.TTL != "":
		return Request{}, errors.New("give either expires, for example 2026-12-31T00:00:00Z, or ttl, for example 24h")
	case in.Expires != "":
		if r.Expires, err = parseTime("expires", in.Expires); err != nil {
			return Request{}, err
		}
	case in.TTL != "":
		ttl, err := time.ParseDuration(in.TTL)
		if err != nil || ttl <= 0 {
			return Request{}, fmt.Errorf("ttl %q: write a duration such as 24h or 30m", in.TTL)
		}
		r.Expires, r.Shorten = now.Add(ttl), Ticks
	default:
		r.Expires, r.Shorten = now.Add(DefaultLife), -1
	}
	if in.NotBefore != "" {
		if r.NotBefore, err = parseTime("notBefore", in.NotBefore); err != nil {
			return Request{}, err
		}
	}
	for _, text := range in.Proofs {
		cid, err := ucan.ParseCID(text)
		if err != nil {
			return Request{}, fmt.Errorf("proofs: %w", err)
		}
		r.Proofs = append(r.Proofs, cid)
	}
	return r, nil
}

// Ticks is how much sooner than asked a token may end that was to live as long as
// the one it rests on: time passes between the two.
const Ticks = time.Minute

func parseTime(field, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%s %q: write it as 2026-12-31T00:00:00Z", field, s)
	}
	return t, nil
}

type revokeInput struct {
	CID string `json:"cid" jsonschema:"the token to revoke; what was delegated from it ends too"`
}

type revokeOutput struct {
	CID     string `json:"cid"`
	Revoked bool   `json:"revoked"` // false where the token is not known here
	Note    string `json:"note,omitempty"`
}

func parseCID(text string) (ucan.CID, error) {
	if text == "" {
		return ucan.CID{}, errors.New("cid is missing: name the token")
	}
	return ucan.ParseCID(text)
}

// needCID asks for the ability alone: what the token grants, which bounds the call,
// is known when it is read.
func needCID(cid, ability string) []caps.Request {
	if _, err := parseCID(cid); err != nil {
		return []caps.Request{caps.Invalid(err)}
	}
	return []caps.Request{caps.NeedAbility(ability)}
}

// Clock is a service that says what time it is, for lifetimes.
type Clock interface{ Now() time.Time }

func now(s Service) time.Time {
	if c, ok := s.(Clock); ok {
		return c.Now()
	}
	return time.Now()
}

func sign(s Service) []*tools.Operation {
	return []*tools.Operation{
		tools.New("ucan:issue", "Issue a token for authority in your own namespace, signed by the venue.",
			func(in issueInput) []caps.Request { return handOn(canDelegate, in.capabilities()) },
			func(ctx context.Context, call tools.Call, in issueInput) (issueOutput, error) {
				r, err := in.request()
				if err != nil {
					return issueOutput{}, err
				}
				link, err := s.Issue(ctx, call, r)
				if err != nil {
					return issueOutput{}, err
				}
				d := Describe(link, true)
				return issueOutput{Token: d.Token, CID: d.CID, Issuer: d.Issuer, Expires: d.Expires}, nil
			}, tools.Within(caps.ScopeAbility(canDelegate)), tools.Exclusive(), tools.Reaching(tools.ReachAny)),

		tools.New("ucan:delegate", "Hand on authority that you hold, as tokens signed by your own key.",
			func(in delegateInput) []caps.Request { return handOn(canDelegate, in.Capabilities) },
			func(ctx context.Context, call tools.Call, in delegateInput) (delegateOutput, error) {
				r, err := in.request(now(s))
				if err != nil {
					return delegateOutput{}, err
				}
				links, err := s.Delegate(ctx, call, r)
				if err != nil {
					return delegateOutput{}, err
				}
				out := delegateOutput{Tokens: make([]Token, len(links))}
				for i, l := range links {
					out.Tokens[i] = Describe(l, true)
				}
				return out, nil
			}, tools.Within(caps.ScopeAbility(canDelegate)), tools.Exclusive(), tools.Reaching(tools.ReachAny)),

		tools.New("ucan:revoke", "Revoke a token that you issued or whose resources you own, and all that was delegated from it.",
			func(in revokeInput) []caps.Request { return needCID(in.CID, CanRevoke) },
			func(ctx context.Context, call tools.Call, in revokeInput) (revokeOutput, error) {
				cid, err := parseCID(in.CID)
				if err != nil {
					return revokeOutput{}, err
				}
				known, err := s.Revoke(ctx, call, cid)
				out := revokeOutput{CID: in.CID, Revoked: known}
				if !known {
					out.Note = "no token of this name is known here: the revocation counts from when one comes, if you stand in its chain"
				}
				return out, err
			}, tools.Within(caps.ScopeAbility(CanRevoke)), tools.Idempotent(), tools.Exclusive()),
	}
}
