package cli

import (
	"context"

	"usher/caps"
	"usher/tools/delegation"
	"usher/ucan"
)

type ucanVerifyCmd struct {
	Files  []string   `arg:"" name:"file" placeholder:"FILE|-" help:"Files of tokens and revocations, in any order: JWT, multibase text, or raw CBOR."`
	Caller ucan.DID   `required:"" placeholder:"DID" help:"Who asks."`
	Can    string     `required:"" placeholder:"ABILITY" help:"What they ask to do, for example crud/read."`
	With   string     `required:"" placeholder:"RESOURCE" help:"On what: did:key:z6Mk…/w/reports, or a bare path with --owner."`
	Owner  ucan.DID   `placeholder:"DID" help:"Whose namespace a bare --with lies in."`
	Root   []ucan.DID `sep:"none" placeholder:"DID" help:"A venue that may begin chains for others; repeat it for more. Owners always may."`
	At     *timeFlag  `placeholder:"RFC3339" help:"Decide as of this time instead of now."`
	JSON   bool       `name:"json" help:"Print JSON, which it always does."`
}

func (c *ucanVerifyCmd) Help() string {
	return "The answer is one JSON document: decision, reason and the chain that carries the authority, the caller's token first. Only what is in the files counts, their revocations included: usher ucan export prints those that a venue knows. The status is 0 for allow, 1 for deny, and 2, without an answer, for a question or a file that cannot be read."
}

// Run prints a verdict wherever the question and the files can be read.
func (c *ucanVerifyCmd) Run(ctx context.Context, s *streams) error {
	q := ucan.Query{Caller: c.Caller, Owner: c.Owner, Request: caps.Need(c.Can, c.With)}
	if err := q.Request.Err(); err != nil {
		return misuse{err}
	}
	if did := q.Request.Resource().DID(); did != "" {
		if _, err := ucan.ParseDID(did); err != nil {
			return misusef("--with: %w", err)
		}
	} else if q.Owner.IsZero() {
		return misusef("--with %s names no owner: write did:key:z6Mk…/%[1]s, or give --owner", c.With)
	}
	items, err := tokensBy(s.readAll, c.Files)
	if err != nil {
		return err
	}
	v := &ucan.Verifier{Now: c.At.clock(), Roots: trustRoots(c.Root), Limits: ucan.Limits{Proofs: maxQuery}}
	verdict := delegation.Judge(ctx, v, q, items)
	for i, a := range verdict.Aside {
		verdict.Aside[i].Reason = items[a.Token].Source + ": " + a.Reason
	}
	if err := s.printJSON(verdict); err != nil {
		return err
	}
	if verdict.Decision != verdictAllow {
		return errQuiet
	}
	return nil
}

// maxQuery is how many tokens one query takes at most.
const maxQuery = 1 << 14
