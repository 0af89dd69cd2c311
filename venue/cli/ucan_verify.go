package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"usher/caps"
	"usher/ucan"
)

type ucanVerifyCmd struct {
	Files  []string `arg:"" name:"file" placeholder:"FILE|-" help:"Files of tokens, in any order: JWT, multibase text, or raw CBOR."`
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
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Chain    []step `json:"chain"` // from the caller's token to the root's; empty when denied

	Aside []string `json:"aside,omitempty"` // tokens that are not understood, and why
}

// step is one token of a chain.
type step struct {
	CID          ucan.CID          `json:"cid"`
	Issuer       ucan.DID          `json:"issuer"`
	Audience     ucan.DID          `json:"audience"`
	Capabilities []caps.Capability `json:"capabilities"`
	Expires      *time.Time        `json:"expires"` // null for never
}

func (c *ucanVerifyCmd) Help() string {
	return "The answer is one JSON document: decision, reason and the chain that carries the authority, the caller's token first. Only what is in the files counts: revocations, which live in a venue, are not seen. The status is 0 for allow, 1 for deny, 2 for a question that cannot be read."
}

// Run prints a ruling whatever happens, so that whoever reads it never mistakes
// silence for an answer.
func (c *ucanVerifyCmd) Run(ctx context.Context, s *streams) error {
	r, err := c.decide(ctx, s)
	if err != nil {
		r = denied(err)
	}
	if err := s.printJSON(r); err != nil {
		return err
	}
	if err == nil && r.Decision != verdictAllow {
		return errQuiet
	}
	return err
}

func denied(reason error) ruling {
	return ruling{Decision: verdictDeny, Reason: reason.Error(), Chain: []step{}}
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
	links, err := linksOf(slices.DeleteFunc(slices.Clone(tokens), func(t token) bool {
		_, wrong := errors.AsType[*ucan.VerifyError](t.err)
		return t.err != nil && !wrong
	}))
	if err != nil {
		return denied(err), nil
	}
	if len(links) == 0 {
		if _, err := linksOf(tokens); err != nil { // why there is none
			return denied(err), nil
		}
	}
	var r ruling
	if grant, err := authorize(ctx, v, q, links); err != nil {
		r = denied(err)
	} else if by, ok := grant.By(); !ok {
		r = ruling{Decision: verdictAllow, Reason: "the caller owns the resource", Chain: []step{}}
	} else {
		r = ruling{Decision: verdictAllow, Reason: "allowed by " + by.String(), Chain: stepsOf(grant.Chain(), links)}
		if grant.Conditional() {
			r.Reason += ", under conditions that the request satisfies"
		}
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
	if c.Owner != "" {
		if q.Owner, err = didFlag("owner", c.Owner); err != nil {
			return q, nil, err
		}
	}
	can, err := caps.ParseAbility(c.Can)
	if err != nil {
		return q, nil, misusef("--can: %w", err)
	}
	with, err := caps.ParseResource(c.With)
	if err != nil {
		return q, nil, misusef("--with: %w", err)
	}
	if d := with.DID(); d != "" {
		if _, err := didFlag("with", d); err != nil {
			return q, nil, err
		}
	}
	q.Request = caps.NeedOn(can, with)
	roots, err := didFlags("root", c.Root)
	if err != nil {
		return q, nil, err
	}
	at, err := nowOr(c.At)
	if err != nil {
		return q, nil, err
	}
	return q, &ucan.Verifier{
		Now:    func() time.Time { return at },
		Roots:  rootsFor(roots),
		Limits: ucan.Limits{Proofs: maxQuery},
	}, nil
}

// maxQuery is how many tokens one query takes at most.
const maxQuery = 1 << 14

// stepsOf describes a chain, whose tokens are among the links or inside them.
func stepsOf(chain []ucan.CID, links []*ucan.Link) []step {
	byCID := map[ucan.CID]*ucan.Link{}
	var note func(l *ucan.Link)
	note = func(l *ucan.Link) {
		byCID[l.CID()] = l
		for _, p := range l.Inline() {
			note(p)
		}
	}
	for _, l := range links {
		note(l)
	}
	steps := make([]step, 0, len(chain))
	for _, c := range chain {
		l := byCID[c]
		st := step{CID: c, Issuer: l.Issuer(), Audience: l.Audience(), Capabilities: slices.Collect(l.Capabilities())}
		if t, ok := l.Expires(); ok {
			st.Expires = &t
		}
		steps = append(steps, st)
	}
	return steps
}
