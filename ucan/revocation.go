package ucan

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"usher/caps"
)

// revokeAbility is the command of a revocation and what one may delegate.
const revokeAbility caps.Ability = "ucan/revoke"

// revokeArg names the token in the arguments of a revocation; olderArg is how
// earlier drafts do.
const revokeArg, olderArg = "revoke", "ucan"

// Revocation is a signed statement that a token is no longer good: an invocation
// of /ucan/revoke. It counts for those who issued the token or one above it in
// its chain, and for the owner of what it grants. It cannot be taken back.
type Revocation struct {
	Target CID // what is revoked
	Issuer DID // who revokes
	raw    []byte
}

// openRevocation reads a revocation and verifies its signature.
func openRevocation(raw []byte) (*Revocation, error) {
	inv, err := OpenInvocation(raw)
	if err != nil {
		return nil, err
	}
	if inv.Can != revokeAbility {
		return nil, formatError("it invokes %s; a revocation invokes %s", inv.Can, revokeAbility)
	}
	named, _ := inv.Args[revokeArg].(link)
	older, _ := inv.Args[olderArg].(link)
	switch {
	case named == "":
		named = older
	case older != "" && older != named:
		return nil, formatError("its arguments %q and %q name two tokens", revokeArg, olderArg)
	}
	target, ok := cidFromBytes([]byte(named))
	if !ok {
		return nil, formatError("its argument %q is not the CID of a token", revokeArg)
	}
	return &Revocation{target, inv.Issuer, inv.Raw}, nil
}

// Revocation signs a revocation of target. The nonce follows from both, so that
// revoking twice gives one record.
func (k Key) Revocation(target CID, at time.Time) (*Revocation, error) {
	nonce := sha256.Sum256([]byte("revoke" + target.key() + k.DID().s))
	inv, err := k.Invoke(Call{
		Subject: k.DID(), Can: revokeAbility, Args: map[string]any{revokeArg: target},
		Issued: at, Expires: at.Add(5 * time.Minute), Nonce: nonce[:16],
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("sign revocation: %w", err)
	}
	return openRevocation(inv.Raw)
}

// Revoke checks that the issuer may revoke the target, writes the revocation to
// disk and puts it into effect: when Revoke returns, the target and everything
// that was delegated from it are refused. The issuer must have issued the target
// or a token above it, own what it grants, or hold ucan/revoke on
// "<owner>/u/<cid>". A target that is not stored is taken on trust, because a
// revocation can arrive first: it has effect if the issuer turns out to be in the
// chain. Each issuer may leave a thousand such ones; beyond that the error wraps
// [ErrBudget], and storing the token first is the way.
//
// A revocation stays for good: no sweep and no clock removes it.
func (v *Verifier) Revoke(ctx context.Context, r *Revocation) error {
	if v.Store == nil {
		return fmt.Errorf("revoke: %w", errNoStore)
	}
	if signed, err := openRevocation(r.raw); err != nil || signed.Target != r.Target || signed.Issuer != r.Issuer {
		return &VerifyError{Err: ErrSignature, CID: r.Target, Detail: "the revocation is not the one that was verified"}
	}
	revoker := r.Issuer
	target, err := v.Store.Get(ctx, r.Target)
	switch {
	case errors.Is(err, ErrMissingProof):
		target = nil
	case err != nil:
		return fmt.Errorf("revoke: %w", err)
	default:
		if revoker, err = v.revokerOf(ctx, target, r.Issuer); err != nil {
			return fmt.Errorf("revoke %s: %w", r.Target, err)
		}
	}
	return v.Store.revoke(ctx, r, revoker, target)
}

// revokerOf returns in whose name issuer may revoke target.
func (v *Verifier) revokerOf(ctx context.Context, target *Link, issuer DID) (DID, error) {
	owners := target.owners()
	if target.isIssuedWithin(issuer) || target.Subject == issuer || slices.Contains(owners, issuer) {
		return issuer, nil
	}
	// Whoever stands above it in the chain by which its issuer holds it.
	for _, g := range target.resolved.Load().grants {
		held, err := v.Authorize(ctx, Query{Caller: target.Issuer, Owner: g.owner, Request: caps.NeedOn(g.can, g.path)})
		if err == nil && slices.ContainsFunc(held.Links(), func(l *Link) bool { return l.Issuer == issuer }) {
			return issuer, nil
		}
	}
	for _, owner := range owners {
		if v.letsRevoke(ctx, owner, issuer, target.CID, nil) == nil {
			return owner, nil
		}
	}
	return DID{}, &VerifyError{Err: errMayNotRevoke, CID: target.CID, Detail: issuer.s + " neither issued it, nor owns what it grants, nor holds ucan/revoke"}
}

// letsRevoke returns nil where an owner has let issuer revoke a token.
func (v *Verifier) letsRevoke(ctx context.Context, owner, issuer DID, target CID, tokens []*Link) error {
	_, err := v.Authorize(ctx, Query{Caller: issuer, Owner: owner, Request: caps.Need(string(revokeAbility), "u/"+target.String()), Tokens: tokens})
	return err
}

// revoke writes and takes effect, also where nobody can say whether it was written: an error of the
// store leaves the token revoked, until the store is opened again at least, never the reverse.
// target is nil where it is not stored.
func (s *Store) revoke(ctx context.Context, r *Revocation, revoker DID, target *Link) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	known := slices.Contains(s.revokersOf(r.Target), revoker)
	key := keyRevocation + r.Target.key() + revoker.key()
	put := map[string][]byte{key: r.raw}
	if target == nil && !known {
		left, _, err := s.kv.PageKeys(ctx, keyUnknown+revoker.key(), "", s.maxUnknown)
		if err != nil {
			return fmt.Errorf("count revocations: %w", err)
		}
		if len(left) >= s.maxUnknown {
			return &VerifyError{Err: ErrBudget, CID: r.Target, Detail: fmt.Sprintf("%s has revoked %d tokens that are not known here; store the token first", revoker, len(left))}
		}
		put[keyUnknown+revoker.key()+r.Target.key()] = nil
	}
	err := s.line(ctx)
	var stored uint64
	if err == nil {
		_, stored, err = s.kv.Get(ctx, key)
	}
	if err == nil {
		if stored == 0 { // also where an earlier try failed
			s.fed++
			put[keyFeed+turnKey(s.fed)+r.Target.key()+revoker.key()] = nil
		}
		_, err = s.kv.Apply(ctx, nil, put, nil)
	}
	if err != nil {
		err = fmt.Errorf("store revocation of %s: %w", r.Target, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !known {
		s.revoked[r.Target] = append(slices.Clip(s.revoked[r.Target]), revoker)
		s.revocations.Add(1)
	}
	if target != nil {
		delete(s.audiences, target.Audience)
	}
	return err
}

// revocationAt takes the key of a revocation apart.
func revocationAt(key string) (target CID, revoker DID, ok bool) {
	b := []byte(key[len(keyRevocation):])
	if len(b) != cidBytes+keySize {
		return target, revoker, false
	}
	target, ok = cidFromBytes(b[:cidBytes])
	return target, didOf(b[cidBytes:]), ok
}

// Revocations lists the signed revocations of a token.
func (s *Store) Revocations(ctx context.Context, c CID) ([]*Revocation, error) {
	var list []*Revocation
	for _, d := range s.revokersOf(c) {
		r, err := s.revocation(ctx, c.key()+d.key())
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// revocation reads one by its key, without the prefix.
func (s *Store) revocation(ctx context.Context, key string) (r *Revocation, err error) {
	target, _, _ := revocationAt(keyRevocation + key)
	raw, rev, err := s.kv.Get(ctx, keyRevocation+key)
	if err == nil && rev == 0 {
		return nil, fmt.Errorf("the revocation of %s is missing", target)
	}
	if err == nil {
		r, err = openRevocation(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("read revocation of %s: %w", target, err)
	}
	return r, nil
}

// revokersOf lists who revoked a token. Whether that counts is for the chain to say.
func (s *Store) revokersOf(c CID) []DID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.revoked[c]
}

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
