package ucan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"usher/caps"
)

// Invoke decides an invocation and marks it as used: of several copies one is
// allowed. request is what the operation needs, derived by the venue from the
// operation and its input; its resource names the owner. The ability and, where
// the invocation names one, the resource have to be those that the caller signed
// for. tokens are delegations that came along; others are read from the store.
//
// The mark survives a killed process. It is not synced on its own, so a power cut
// within the five minutes that an invocation lives can forget it.
func (v *Verifier) Invoke(ctx context.Context, inv *Invocation, request caps.Request, tokens ...*Link) (Grant, error) {
	if v.Store == nil {
		return Grant{}, fmt.Errorf("invoke: %w", errNoStore)
	}
	if inv.opened == nil {
		return Grant{}, &VerifyError{Err: ErrSignature, CID: inv.CID, Detail: "it was never verified"}
	}
	inv = inv.opened
	g, err := v.examine(ctx, inv, request, tokens)
	if err != nil {
		return Grant{}, err
	}
	if err := v.Store.use(ctx, inv); err != nil {
		return Grant{}, err
	}
	return g, nil
}

// Current reports what is wrong with an invocation here and now, whatever it asks for: another is to
// carry it out, it has expired, or it lives too long.
func (v *Verifier) Current(inv *Invocation) error {
	refuse := func(err error, detail string) error {
		return &VerifyError{Err: err, CID: inv.CID, Detail: detail}
	}
	executor := inv.Audience
	if executor.IsZero() {
		executor = inv.Subject
	}
	if executor != v.Self {
		return refuse(ErrAudience, "it is to be carried out by "+executor.s)
	}
	now, life := v.now(), v.Limits.invocationLife()
	switch {
	case expired(inv.exp, now):
		return refuse(ErrExpired, "")
	case now.Before(time.Unix(inv.iat, 0)):
		return refuse(ErrNotYetValid, "it was issued in the future")
	case life >= 0 && inv.exp > now.Add(life).Unix():
		return refuse(ErrLifetime, "an invocation may live "+life.String()+" at most (Limits.InvocationLife)")
	}
	return nil
}

// examine is Invoke without the mark.
func (v *Verifier) examine(ctx context.Context, inv *Invocation, request caps.Request, tokens []*Link) (Grant, error) {
	if err := v.Current(inv); err != nil {
		return Grant{}, err
	}
	refuse := func(err error, detail string) (Grant, error) {
		return Grant{}, &VerifyError{Err: err, CID: inv.CID, Detail: detail}
	}
	q := Query{Caller: inv.Issuer, Request: request, Proofs: inv.Proofs, beside: tokens, Args: inv.Args}
	n, err := q.need()
	if err != nil {
		return Grant{}, err
	}
	if !inv.Can.Covers(n.can) {
		return refuse(ErrNotCovered, "it invokes "+string(inv.Can)+", the operation needs "+string(n.can))
	}
	if with, ok := inv.Args["with"]; ok && with != absolute(n.owner, n.path) {
		return refuse(ErrNotCovered, "it names another resource than the operation uses")
	}
	if inv.Issuer == n.owner {
		if inv.Subject != inv.Issuer && inv.Subject != v.Self {
			return refuse(ErrSubject, "the owner invokes in the name of "+inv.Subject.s)
		}
		return Grant{owner: n.owner}, nil
	}
	if len(inv.Proofs) == 0 {
		return refuse(ErrMissingProof, "the caller is not the owner and names no proof")
	}
	g, err := v.Authorize(ctx, q)
	if err != nil {
		return Grant{}, err
	}
	for _, l := range g.Links() {
		if l.Format == Native && l.Subject != inv.Subject {
			return refuse(ErrSubject, "the chain is about "+l.Subject.s)
		}
		// The caller signed for a command, so the chain must carry all of it.
		if l.Format == Native && !l.grants[0].can.Covers(inv.Can) {
			return refuse(ErrNotCovered, "the chain does not carry "+string(inv.Can))
		}
	}
	if inv.Subject != n.owner && inv.Subject != g.root() {
		return refuse(ErrSubject, "the invocation is about "+inv.Subject.s)
	}
	// The list is the chain, no more: in either order, since the specification
	// gives both.
	chain := g.Chain()
	for _, c := range inv.Proofs {
		if !slices.Contains(chain, c) {
			return refuse(ErrBrokenChain, "it names a proof that is no part of the chain: "+c.String())
		}
	}
	return g, nil
}
