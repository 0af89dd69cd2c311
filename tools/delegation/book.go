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

// RevokeResult answers ucan:revoke.
type RevokeResult struct {
	CID     ucan.CID `json:"cid"`
	Revoked bool     `json:"revoked"` // false where the token is not known here
	Note    string   `json:"note,omitempty"`
}

func (d *Desk) revoke(ctx context.Context, call tools.Call, in tokenInput) (out RevokeResult, err error) {
	token, err := d.find(ctx, in.CID)
	if err == nil {
		err = d.checkReach(ctx, call, canRevoke, token)
	}
	if err != nil {
		return out, err
	}
	out = RevokeResult{CID: in.CID, Revoked: token != nil}
	if token == nil {
		out.Note = "no token of this name is known here: the revocation counts from when one comes, if you stand in its chain"
	}
	return out, d.Revoke(ctx, call.Owner(), in.CID)
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

func (d *Desk) list(ctx context.Context, call tools.Call, in listInput) (Tokens, error) {
	me, store := call.Owner(), d.Verifier.Store
	out := Tokens{Tokens: []Token{}}
	add := func(direction string, links iter.Seq2[*ucan.Link, error], wanted func(*ucan.Link) bool) error {
		for l, err := range links {
			if err == nil && !wanted(l) {
				continue
			}
			if err == nil {
				err = d.checkReach(ctx, call, canRead, l)
			}
			if _, denied := errors.AsType[*caps.Denial](err); denied {
				continue
			}
			if err != nil {
				return err
			}
			t := Describe(l, false)
			if t.Capabilities, err = d.Verifier.Effective(ctx, l); err != nil {
				return err
			}
			t.Direction, t.Revoked = direction, errors.Is(d.Verifier.Check(ctx, l), ucan.ErrRevoked)
			out.Tokens = append(out.Tokens, t)
		}
		return nil
	}
	all := func(*ucan.Link) bool { return true }
	if in.Received || !in.Issued {
		if err := add(received, store.ByAudience(ctx, me), all); err != nil {
			return out, err
		}
	}
	if in.Received && !in.Issued {
		return out, nil
	}
	if err := add(issued, store.ByIssuer(ctx, me), all); err != nil {
		return out, err
	}
	// The venue signs what ucan:issue makes for a principal.
	return out, add(issued, store.ByIssuer(ctx, d.Venue.DID()), func(l *ucan.Link) bool { return speaksFor(l, me) })
}

type verifyInput struct {
	Tokens []string `json:"tokens,omitempty" jsonschema:"the chain; left out, the venue's store is searched"`
	Caller ucan.DID `json:"caller" jsonschema:"DID of who would act"`
	Can    string   `json:"can" jsonschema:"ability"`
	With   string   `json:"with" jsonschema:"resource, with its owner's DID or in your own namespace"`
	At     string   `json:"at,omitempty" jsonschema:"RFC 3339; left out, now"`
}

// notYours is all that is said of authority between others.
const notYours = "send the tokens along: the venue's own are searched only for the caller and for the owner of the resource"

// verify answers what the walker decides. That a token cannot be read is a
// verdict too; that the question cannot be is an error.
func (d *Desk) verify(ctx context.Context, call tools.Call, in verifyInput) (v Verdict, err error) {
	me, verifier := call.Owner(), *d.Verifier
	q := ucan.Query{Caller: in.Caller, Owner: me, Request: caps.Need(in.Can, in.With)}
	if err := q.Request.Err(); err != nil {
		return v, err
	}
	if in.At != "" {
		at, err := parseTime("at", in.At)
		if err != nil {
			return v, err
		}
		verifier.Now = func() time.Time { return at }
	}
	items, err := read(in.Tokens)
	if err != nil {
		return v, err
	}
	if at := q.Request.In(me.String()).Resource(); len(Sort(items).Links) == 0 {
		// What stands in the store is told as far as it is listed.
		if denial := call.Check(caps.NeedOn(canRead, at)); denial != nil {
			return v, denial
		}
		if q.Caller != me && at.DID() != "" {
			return Verdict{Decision: tools.Denied, Reason: notYours, Chain: []Token{}}, nil
		}
	}
	return Judge(ctx, &verifier, q, items), nil
}

func (q feedQuery) needs() []caps.Request {
	if q.Limit < 0 || q.Limit > maxFeed {
		return []caps.Request{caps.Invalid(fmt.Errorf("limit is %d: give 1 to %d, or leave it out", q.Limit, maxFeed))}
	}
	return []caps.Request{caps.NeedAbility(canRead)}
}
