package ucan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"usher/caps"
)

// Heed returns a verifier for which revocations that came with tokens count beside
// those of the store, as [Verifier.Revoke] would let them: in a chain where the
// revoker issued the target or a token above it, in the revoker's own namespace, and
// where the tokens give the revoker ucan/revoke on "<owner>/u/<cid>". Others change
// nothing. The error is one of the store.
func (v *Verifier) Heed(ctx context.Context, revocations []*Revocation, tokens []*Link) (*Verifier, error) {
	heeding := *v
	if len(revocations) == 0 {
		return &heeding, nil
	}
	targets := map[CID]*Link{}
	var note func(*Link)
	note = func(l *Link) {
		if targets[l.CID] != nil {
			return
		}
		targets[l.CID] = l
		if r, _ := l.resolve(func(c CID) (*Link, error) { return v.proof(ctx, c, tokens) }); r != nil {
			for _, p := range r.parents {
				note(p)
			}
		}
	}
	for _, l := range tokens {
		note(l)
	}
	heeding.brought = map[CID][]DID{}
	for _, r := range revocations {
		by := []DID{r.Issuer}
		if target := targets[r.Target]; target != nil {
			owners, err := v.revokesFor(ctx, target, r.Issuer, tokens)
			if err != nil {
				return nil, err
			}
			by = append(by, owners...)
		}
		heeding.brought[r.Target] = append(heeding.brought[r.Target], by...)
	}
	return &heeding, nil
}

// revokesFor lists the owners of what a token grants who let issuer revoke it.
func (v *Verifier) revokesFor(ctx context.Context, target *Link, issuer DID, tokens []*Link) (owners []DID, err error) {
	on, err := caps.ParseResource("u/" + target.CID.String())
	if err != nil {
		return nil, err
	}
	res := target.resolved.Load()
	if res == nil {
		return nil, nil // without its proofs it counts nowhere
	}
	for i := range res.grants {
		owner := res.grants[i].owner
		if owner.IsZero() || slices.Contains(owners, owner) {
			continue
		}
		_, err := v.Authorize(ctx, Query{Caller: issuer, Owner: owner, Request: caps.NeedOn(revokeAbility, on), Tokens: tokens})
		if _, refused := errors.AsType[*VerifyError](err); err != nil && !refused {
			return nil, fmt.Errorf("judge revocation of %s: %w", target.CID, err)
		}
		if err == nil {
			owners = append(owners, owner)
		}
	}
	return owners, nil
}
