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

type issueInput struct {
	Audience     ucan.DID          `json:"audience,omitzero" jsonschema:"DID that receives the authority"`
	Attenuations []caps.Capability `json:"attenuations,omitempty" jsonschema:"capabilities in your own namespace"`
	Expiry       *int64            `json:"expiry,omitempty" jsonschema:"when it ends, in milliseconds since 1970"`
	Exp          *int64            `json:"exp,omitempty" jsonschema:"when it ends, in seconds since 1970"`
}

// IssueResult answers ucan:issue.
type IssueResult struct {
	Token   string `json:"token"`
	CID     string `json:"cid"`
	Issuer  string `json:"issuer"`
	Expires string `json:"expires"`
}

func (in *issueInput) parse() (out ucan.Delegation, err error) {
	out = ucan.Delegation{Audience: in.Audience, Capabilities: in.Attenuations, Format: ucan.JWT}
	switch {
	case in.Expiry != nil && in.Exp != nil:
		err = errors.New("expiry (milliseconds) and exp (seconds) mean the same: give one")
	case in.Exp != nil:
		out.Expires = time.Unix(*in.Exp, 0)
	case in.Expiry != nil:
		out.Expires = time.UnixMilli(*in.Expiry)
	default:
		err = errors.New("expiry is missing: say when the token ends, as expiry in milliseconds or exp in seconds")
	}
	if len(in.Attenuations) == 0 {
		err = errors.New("attenuations is missing: list the capabilities that you hand on")
	}
	return out, err
}

// issue signs with the venue's key. COG-13 limits it to the caller's own
// namespace: the venue would root any other, too, and must not be talked into it.
func (d *Desk) issue(ctx context.Context, call tools.Call, in issueInput) (IssueResult, error) {
	what, err := in.parse()
	if err != nil {
		return IssueResult{}, err
	}
	what.Owner = call.Owner()
	for _, c := range what.Capabilities {
		if did := c.Resource().In(what.Owner.String()).DID(); did != "" {
			return IssueResult{}, fmt.Errorf("%s is not in your own namespace: hand it on with ucan:delegate", c)
		}
	}
	links, err := d.sign(ctx, call, d.Venue, what)
	if err != nil {
		return IssueResult{}, err
	}
	t := Describe(links[0], true)
	return IssueResult{Token: t.Token, CID: t.CID, Issuer: t.Issuer, Expires: t.Expires}, nil
}

type delegateInput struct {
	Audience     ucan.DID          `json:"audience" jsonschema:"DID that receives the authority"`
	Capabilities []caps.Capability `json:"capabilities" jsonschema:"what it receives; bare resources are in your own namespace"`
	Expires      string            `json:"expires,omitempty" jsonschema:"when it ends, RFC 3339"`
	TTL          string            `json:"ttl,omitempty" jsonschema:"how long it holds, for example 8h; instead of expires; with neither, 24h or as long as what it rests on"`
	NotBefore    string            `json:"notBefore,omitempty" jsonschema:"when it begins, RFC 3339"`
	Proofs       []ucan.CID        `json:"proofs,omitempty" jsonschema:"CIDs of the tokens that you hold it by; left out, they are found"`
	Format       string            `json:"format,omitempty" jsonschema:"native (UCAN 1.0, the default) or jwt"`
	Inline       bool              `json:"inline,omitempty" jsonschema:"put the proofs of a JWT inside it"`
}

// Tokens answers ucan:delegate and ucan:list.
type Tokens struct {
	Tokens []Token `json:"tokens"`
}

func (in *delegateInput) parse(now time.Time) (out ucan.Delegation, err error) {
	out = ucan.Delegation{Audience: in.Audience, Capabilities: in.Capabilities, Proofs: in.Proofs, Format: ucan.Native, Inline: in.Inline}
	switch in.Format {
	case "", "native":
	case "jwt":
		out.Format = ucan.JWT
	default:
		return out, fmt.Errorf("format %q: write native or jwt", in.Format)
	}
	switch {
	case in.Expires != "" && in.TTL != "":
		return out, errors.New("give either expires, for example 2026-12-31T00:00:00Z, or ttl, for example 24h")
	case in.Expires != "":
		out.Expires, err = parseTime("expires", in.Expires)
	case in.TTL != "":
		var ttl time.Duration
		if ttl, err = time.ParseDuration(in.TTL); err != nil || ttl <= 0 {
			err = fmt.Errorf("ttl %q: write a duration such as 24h or 30m", in.TTL)
		}
		out.Expires, out.Shorten = now.Add(ttl), Ticks
	default:
		out.Expires, out.Shorten = now.Add(DefaultLife), -1
	}
	if err == nil && in.NotBefore != "" {
		out.NotBefore, err = parseTime("notBefore", in.NotBefore)
	}
	return out, err
}

// delegate signs with the caller's key.
func (d *Desk) delegate(ctx context.Context, call tools.Call, in delegateInput) (out Tokens, err error) {
	what, err := in.parse(d.Verifier.Now())
	if err != nil {
		return out, err
	}
	key, err := d.Key(ctx, call.Owner())
	if err != nil {
		return out, err
	}
	links, err := d.sign(ctx, call, key, what)
	for _, l := range links {
		out.Tokens = append(out.Tokens, Describe(l, true))
	}
	return out, err
}

// sign bounds what an agent signs: the token names the agent, and those on whose
// behalf it acts, and lives a day unless the owner allows more.
func (d *Desk) sign(ctx context.Context, call tools.Call, key ucan.Key, what ucan.Delegation) ([]*ucan.Link, error) {
	mine, me := call.Caps(), call.Owner().String()
	for c := range caps.Of(what.Capabilities...).In(me).All() {
		for never := range mine.All() {
			if never.Denies() && never.Meets(c) {
				return nil, fmt.Errorf("%w: %s would give what is denied to you, %s, and a token cannot say so: hand on less", ucan.ErrNotHeld, c, never)
			}
		}
	}
	for _, life := range call.Authority().Bound().Lives {
		what.Agents = append(what.Agents, string(life))
	}
	if len(what.Agents) > 0 {
		what.Latest = d.Verifier.Now().Add(d.Life)
	}
	issuer := ucan.Issuer{Key: key, Verifier: d.Verifier, Rand: d.Rand}
	links, err := issuer.Delegate(ctx, what)
	if !what.Latest.IsZero() && what.Expires.After(what.Latest) && errors.Is(err, ucan.ErrLifetime) {
		err = fmt.Errorf("%w (%s, limits.delegation)", err, d.Life)
	}
	return links, err
}
