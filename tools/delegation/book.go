package delegation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
)

type revokeOutput struct {
	CID     string `json:"cid"`
	Revoked bool   `json:"revoked"` // false where the token is not known here
	Note    string `json:"note,omitempty"`
}

func (d *Desk) revoke(ctx context.Context, call tools.Call, in tokenInput) (out revokeOutput, err error) {
	cid, token, err := d.named(ctx, in)
	if err != nil {
		return out, err
	}
	if err := d.bounded(ctx, call, canRevoke, token); err != nil {
		return out, err
	}
	out = revokeOutput{CID: in.CID, Revoked: token != nil}
	if token == nil {
		out.Note = "no token of this name is known here: the revocation counts from when one comes, if you stand in its chain"
	}
	return out, d.Revoke(ctx, call.Owner(), cid)
}

// Revoke ends a token in the name of a principal.
func (d *Desk) Revoke(ctx context.Context, principal ucan.DID, token ucan.CID) error {
	key, err := d.Key(ctx, principal)
	if err != nil {
		return err
	}
	revocation, err := key.Revocation(token, d.Verifier.Now())
	if err != nil {
		return err
	}
	return d.Verifier.Revoke(ctx, revocation)
}

type listInput struct {
	Received bool `json:"received,omitempty" jsonschema:"only tokens made out to you"`
	Issued   bool `json:"issued,omitempty" jsonschema:"only tokens issued by you"`
}

func (d *Desk) list(ctx context.Context, call tools.Call, in listInput) (tokensOutput, error) {
	me, store := call.Owner(), d.Verifier.Store
	out := tokensOutput{Tokens: []Token{}}
	both := in.Received == in.Issued
	for _, part := range []struct {
		wanted    bool
		direction string
		links     iter.Seq2[*ucan.Link, error]
		all       bool // or only what hands on something of the caller's
	}{
		{in.Received || both, received, store.ByAudience(ctx, me), true},
		{in.Issued || both, issued, store.ByIssuer(ctx, me), true},
		// The venue signs what ucan:issue makes for a principal.
		{in.Issued || both, issued, store.ByIssuer(ctx, d.Venue.DID()), false},
	} {
		if !part.wanted {
			continue
		}
		for l, err := range part.links {
			if err != nil {
				return out, err
			}
			if !part.all && !speaksFor(l, me) {
				continue
			}
			err := d.bounded(ctx, call, canRead, l)
			if _, denied := errors.AsType[*caps.Denial](err); denied {
				continue
			}
			t := Describe(l, false)
			if err == nil {
				t.Capabilities, err = d.Verifier.Effective(ctx, l)
			}
			if err != nil {
				return out, err
			}
			t.Direction, t.Revoked = part.direction, errors.Is(d.Verifier.Check(ctx, l), ucan.ErrRevoked)
			out.Tokens = append(out.Tokens, t)
		}
	}
	return out, nil
}

type verifyInput struct {
	Tokens []string `json:"tokens,omitempty" jsonschema:"the chain; left out, the venue's store is searched"`
	Caller string   `json:"caller" jsonschema:"DID of who would act"`
	Can    string   `json:"can" jsonschema:"ability"`
	With   string   `json:"with" jsonschema:"resource, with its owner's DID or in your own namespace"`
	At     string   `json:"at,omitempty" jsonschema:"RFC 3339; left out, now"`
}

// Verdict answers ucan:verify.
type Verdict struct {
	Decision string  `json:"decision"` // allow or deny
	Reason   string  `json:"reason"`
	Chain    []Token `json:"chain"` // from the caller's own token to the root's
	Aside    []Aside `json:"aside,omitempty"`
}

// errNotYours is all that is said of authority between others.
var errNotYours = errors.New("send the tokens along: the venue's own are searched only for the caller and for the owner of the resource")

// verify answers what the walker decides. That a token cannot be read is a
// verdict too; that the question cannot be is an error.
func (d *Desk) verify(ctx context.Context, call tools.Call, in verifyInput) (v Verdict, err error) {
	me, verifier := call.Owner(), *d.Verifier
	q := ucan.Query{Owner: me, Request: caps.Need(in.Can, in.With)}
	if err := q.Request.Err(); err != nil {
		return v, err
	}
	if q.Caller, err = ucan.ParseDID(in.Caller); err != nil {
		return v, fmt.Errorf("caller: %w", err)
	}
	if in.At != "" {
		at, err := parseTime("at", in.At)
		if err != nil {
			return v, err
		}
		verifier.Now = func() time.Time { return at }
	}
	return judge(ctx, &verifier, q, in.Tokens), nil
}

func judge(ctx context.Context, v *ucan.Verifier, q ucan.Query, texts []string) Verdict {
	b, err := openAll(texts)
	switch elsewhere := q.Request.In(q.Owner.String()).Resource().DID() != ""; {
	case err != nil:
	case b.wrong != nil:
		err = b.wrong
	case len(b.links) == 0 && b.first != nil:
		err = b.first
	case len(b.links) == 0 && q.Caller != q.Owner && elsewhere:
		err = errNotYours
	}
	var grant ucan.Grant
	if err == nil {
		q.Tokens = b.links
		if v, err = v.Heed(ctx, b.revocations, b.links); err == nil {
			grant, err = v.Authorize(ctx, q)
		}
	}
	if err != nil {
		return Verdict{Decision: tools.Denied, Reason: err.Error(), Chain: []Token{}, Aside: b.aside}
	}
	out := Verdict{Decision: tools.Allowed, Reason: "the caller owns the resource", Chain: []Token{}, Aside: b.aside}
	if by, ok := grant.By(); ok {
		out.Reason = fmt.Sprintf("%s, by a chain of %d from %s", by, len(grant.Links()), grant.Root())
	}
	if exp := grant.Expires(); !exp.IsZero() {
		out.Reason += ", until " + exp.Format(time.RFC3339)
	}
	for _, l := range grant.Links() {
		out.Chain = append(out.Chain, Describe(l, false))
	}
	return out
}
