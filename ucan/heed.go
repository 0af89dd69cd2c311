package ucan

import (
	"context"
	"errors"
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
	for _, l := range tokens {
		_, _ = l.resolve(func(c CID) (*Link, error) { return v.proof(ctx, c, tokens) })
		l.each(func(l *Link) { targets[l.CID] = l })
	}
	heeding.brought = map[CID][]DID{}
	for _, r := range revocations {
		by := []DID{r.Issuer}
		if target := targets[r.Target]; target != nil {
			for _, owner := range target.owners() {
				err := v.letsRevoke(ctx, owner, r.Issuer, r.Target, tokens)
				if _, refused := errors.AsType[*VerifyError](err); err != nil && !refused {
					return nil, err
				}
				if err == nil {
					by = append(by, owner)
				}
			}
		}
		heeding.brought[r.Target] = append(heeding.brought[r.Target], by...)
	}
	return &heeding, nil
}
