package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"usher/ucan"
)

// authorize decides with the tokens that matter to the caller: a set may hold
// tokens of others, and some whose proofs are elsewhere. Leaving tokens out can
// only take authority away.
func authorize(ctx context.Context, v *ucan.Verifier, q ucan.Query, links []*ucan.Link) (ucan.Grant, error) {
	// In an order of their own, so that neither the verdict nor the chain depends
	// on that of the files.
	links = slices.SortedFunc(slices.Values(links), func(a, b *ucan.Link) int { return bytes.Compare(a.CID().Bytes(), b.CID().Bytes()) })
	q.Tokens = reaching(q.Caller, links)
	grant, err := v.Authorize(ctx, q)
	if len(q.Tokens) == 0 && errors.Is(err, ucan.ErrMissingProof) {
		err = &ucan.VerifyError{Err: ucan.ErrMissingProof, Detail: "the files hold no token"}
		if len(links) > 0 {
			err = &ucan.VerifyError{Err: ucan.ErrAudience, Detail: "none of the tokens is made out to the caller, " + q.Caller.String()}
		}
		return ucan.Grant{}, err
	}
	first := err
	for err != nil {
		var missing *ucan.VerifyError
		if !errors.As(err, &missing) || !errors.Is(missing.Err, ucan.ErrMissingProof) || missing.CID.IsZero() {
			break
		}
		n := len(q.Tokens)
		q.Tokens = slices.DeleteFunc(q.Tokens, func(l *ucan.Link) bool { return names(l, missing.CID) })
		if len(q.Tokens) == n || len(q.Tokens) == 0 {
			break
		}
		grant, err = v.Authorize(ctx, q)
	}
	if err != nil {
		return ucan.Grant{}, first
	}
	return grant, nil
}

// reaching returns the tokens from which a way can lead to the caller.
func reaching(caller ucan.DID, links []*ucan.Link) []*ucan.Link {
	audiences, named := map[ucan.DID]bool{caller: true}, map[ucan.CID]bool{}
	var note func(l *ucan.Link)
	note = func(l *ucan.Link) {
		audiences[l.Issuer()] = true
		for _, c := range l.Proofs() {
			named[c] = true
		}
		for _, p := range l.Inline() {
			note(p)
		}
	}
	var found []*ucan.Link
	for rest := slices.Clone(links); ; {
		n := len(rest)
		rest = slices.DeleteFunc(rest, func(l *ucan.Link) bool {
			if !audiences[l.Audience()] && !named[l.CID()] {
				return false
			}
			note(l)
			found = append(found, l)
			return true
		})
		if len(rest) == n {
			return found
		}
	}
}

// names reports whether a token, or a proof inside it, names c as its proof.
func names(l *ucan.Link, c ucan.CID) bool {
	return slices.Contains(l.Proofs(), c) ||
		slices.ContainsFunc(l.Inline(), func(p *ucan.Link) bool { return names(p, c) })
}
