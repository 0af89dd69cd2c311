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
		return Grant{}, fmt.Errorf("invoke: %w", ErrNoStore)
	}
	g, err := v.examine(ctx, inv, request, tokens)
	if err != nil {
		return Grant{}, err
	}
	if err := v.Store.use(ctx, inv); err != nil {
		return Grant{}, err
	}
	return g, nil
}

// examine is Invoke without the mark.
func (v *Verifier) examine(ctx context.Context, inv *Invocation, request caps.Request, tokens []*Link) (Grant, error) {
	refuse := func(err error, detail string) (Grant, error) {
		return Grant{}, &VerifyError{Err: err, CID: inv.cid, Detail: detail}
	}
	executor := inv.aud
	if executor.IsZero() {
		executor = inv.sub
	}
	if executor != v.Self {
		return refuse(ErrAudience, "it is to be carried out by "+executor.s)
	}
	now := v.now()
	skew, life := v.Limits.Skew, v.Limits.invocationLife()
	switch {
	case !inv.eternal && now.Add(-skew).After(time.Unix(inv.exp, 0)):
		return refuse(ErrExpired, "")
	case inv.iat != 0 && now.Add(skew).Before(time.Unix(inv.iat, 0)):
		return refuse(ErrNotYetValid, "it was issued in the future")
	case life >= 0 && (inv.eternal || inv.exp > now.Add(life+skew).Unix()):
		return refuse(ErrLifetime, "an invocation may live "+life.String()+" at most (Limits.InvocationLife)")
	}
	q := Query{Caller: inv.iss, Request: request, Proofs: inv.prf, Tokens: tokens, Args: inv.args}
	n, err := q.need()
	if err != nil {
		return Grant{}, err
	}
	if !inv.can.Covers(n.can) {
		return refuse(ErrNotCovered, "it invokes "+string(inv.can)+", the operation needs "+string(n.can))
	}
	if with, ok := inv.args["with"]; ok && with != absolute(n.owner, n.path) {
		return refuse(ErrNotCovered, "it names another resource than the operation uses")
	}
	if inv.iss == n.owner {
		if inv.sub != inv.iss && inv.sub != v.Self {
			return refuse(ErrSubject, "the owner invokes in the name of "+inv.sub.s)
		}
		return Grant{owner: n.owner}, nil
	}
	if len(inv.prf) == 0 {
		return refuse(ErrMissingProof, "the caller is not the owner and names no proof")
	}
	q.Tokens = named(inv.prf, tokens)
	q.Proofs = unnamed(inv.prf, q.Tokens)
	g, err := v.Authorize(ctx, q)
	if err != nil {
		return Grant{}, err
	}
	for _, l := range g.Links() {
		if l.format == Native && l.sub != inv.sub {
			return refuse(ErrSubject, "the chain is about "+l.sub.s)
		}
		// The caller signed for a command, so the chain must carry all of it.
		if l.format == Native && !l.grants[0].can.Covers(inv.can) {
			return refuse(ErrNotCovered, "the chain does not carry "+string(inv.can))
		}
	}
	if inv.sub != n.owner && inv.sub != g.Root() {
		return refuse(ErrSubject, "the invocation is about "+inv.sub.s)
	}
	// The list is the chain, no more: in either order, since the specification
	// gives both.
	chain := g.Chain()
	for _, c := range inv.prf {
		if !slices.Contains(chain, c) {
			return refuse(ErrBrokenChain, "it names a proof that is no part of the chain: "+c.String())
		}
	}
	return g, nil
}

// named returns the tokens that the list names, unnamed what it names beside.
func named(list []CID, tokens []*Link) []*Link {
	var out []*Link
	for _, l := range tokens {
		if slices.Contains(list, l.cid) {
			out = append(out, l)
		}
	}
	return out
}

func unnamed(list []CID, have []*Link) []CID {
	return slices.DeleteFunc(slices.Clone(list), func(c CID) bool {
		return slices.ContainsFunc(have, func(l *Link) bool { return l.cid == c })
	})
}
