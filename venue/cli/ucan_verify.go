package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"usher/caps"
	"usher/tools/delegation"
	"usher/ucan"
)

type ucanVerifyCmd struct {
	Files  []string `arg:"" name:"file" placeholder:"FILE|-" help:"Files of tokens and revocations, in any order: JWT, multibase text, or raw CBOR."`
	Caller string   `required:"" placeholder:"DID" help:"Who asks."`
	Can    string   `required:"" placeholder:"ABILITY" help:"What they ask to do, for example crud/read."`
	With   string   `required:"" placeholder:"RESOURCE" help:"On what: did:key:z6Mk…/w/reports, or a bare path with --owner."`
	Owner  string   `placeholder:"DID" help:"Whose namespace a bare --with lies in."`
	Root   []string `sep:"none" placeholder:"DID" help:"A venue that may begin chains for others; repeat it for more. Owners always may."`
	At     string   `placeholder:"RFC3339" help:"Decide as of this time instead of now."`
	JSON   bool     `name:"json" help:"Print JSON, which it always does."`
}

// ruling is the answer of `ucan verify`.
type ruling struct {
	Decision string             `json:"decision"`
	Reason   string             `json:"reason"`
	Chain    []delegation.Token `json:"chain"`           // from the caller's token to the root's; empty when denied
	Aside    []string           `json:"aside,omitempty"` // tokens that are not understood, and why
}

func (c *ucanVerifyCmd) Help() string {
	return "The answer is one JSON document: decision, reason and the chain that carries the authority, the caller's token first. Only what is in the files counts, their revocations included: usher ucan export prints those that a venue knows. The status is 0 for allow, 1 for deny, and 2, without an answer, for a question or a file that cannot be read."
}

// Run prints a ruling wherever the question and the files can be read.
func (c *ucanVerifyCmd) Run(ctx context.Context, s *streams) error {
	r, err := c.decide(ctx, s)
	if err != nil {
		return err
	}
	if err := s.printJSON(r); err != nil {
		return err
	}
	if r.Decision != verdictAllow {
		return errQuiet
	}
	return nil
}

func denied(reason error) ruling {
	return ruling{Decision: verdictDeny, Reason: reason.Error(), Chain: []delegation.Token{}}
}

// decide returns an error only where the question itself is wrong.
func (c *ucanVerifyCmd) decide(ctx context.Context, s *streams) (ruling, error) {
	q, v, err := c.question()
	if err != nil {
		return ruling{}, err
	}
	tokens, err := s.readTokens(c.Files)
	if err != nil {
		return ruling{}, err
	}
	// What is not understood is set aside; what is, and is forged or contradicts
	// itself, is no proof of anything that came with it.
	var revocations []*ucan.Revocation
	q.Tokens, revocations, err = linksOf(slices.DeleteFunc(slices.Clone(tokens), func(t token) bool {
		_, wrong := errors.AsType[*ucan.VerifyError](t.err)
		return t.err != nil && !wrong
	}))
	if err == nil && len(q.Tokens) == 0 {
		_, _, err = linksOf(tokens) // why there is none
	}
	if err == nil {
		v, err = v.Heed(ctx, revocations, q.Tokens)
	}
	if err != nil {
		return denied(err), nil
	}
	// In an order of their own, so that neither the verdict nor the chain depends
	// on that of the files.
	slices.SortFunc(q.Tokens, func(a, b *ucan.Link) int { return bytes.Compare(a.CID.Bytes(), b.CID.Bytes()) })
	grant, err := v.Authorize(ctx, q)
	if len(q.Tokens) == 0 && errors.Is(err, ucan.ErrMissingProof) {
		err = &ucan.VerifyError{Err: ucan.ErrMissingProof, Detail: "the files hold no token"}
	}
	r := ruling{Decision: verdictAllow, Reason: "the caller owns the resource", Chain: []delegation.Token{}}
	if err != nil {
		r = denied(err)
	} else if by, ok := grant.By(); ok {
		r.Reason = "allowed by " + by.String()
		if grant.Conditional() {
			r.Reason += ", under conditions that the request satisfies"
		}
	}
	for _, l := range grant.Links() {
		r.Chain = append(r.Chain, delegation.Describe(l, false))
	}
	for _, t := range tokens {
		if t.err != nil {
			r.Aside = append(r.Aside, t.source+": "+t.err.Error())
		}
	}
	return r, nil
}

func (c *ucanVerifyCmd) question() (q ucan.Query, v *ucan.Verifier, err error) {
	if q.Caller, err = didFlag("caller", c.Caller); err != nil {
		return q, nil, err
	}
	if q.Owner, err = optionalDID("owner", c.Owner); err != nil {
		return q, nil, err
	}
	can, err := caps.ParseAbility(c.Can)
	if err != nil {
		return q, nil, misusef("--can: %w", err)
	}
	with, err := caps.ParseResource(c.With)
	if err != nil {
		return q, nil, misusef("--with: %w", err)
	}
	if _, err := optionalDID("with", with.DID()); err != nil {
		return q, nil, err
	}
	if with.DID() == "" && q.Owner.IsZero() {
		return q, nil, misusef("--with %s names no owner: write did:key:z6Mk…/%[1]s, or give --owner", c.With)
	}
	q.Request = caps.NeedOn(can, with)
	roots, err := rootFlags(c.Root)
	if err != nil {
		return q, nil, err
	}
	at, err := nowOr(c.At)
	return q, &ucan.Verifier{
		Now: func() time.Time { return at }, Roots: roots, Limits: ucan.Limits{Proofs: maxQuery},
	}, err
}

// maxQuery is how many tokens one query takes at most.
const maxQuery = 1 << 14
