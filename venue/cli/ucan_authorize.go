package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"usher/ucan"
)

// authorize decides with the tokens of some files, in an order of their own, so
// that neither the verdict nor the chain depends on that of the files.
func authorize(ctx context.Context, v *ucan.Verifier, q ucan.Query, links []*ucan.Link) (ucan.Grant, error) {
	q.Tokens = slices.SortedFunc(slices.Values(links), func(a, b *ucan.Link) int { return bytes.Compare(a.CID().Bytes(), b.CID().Bytes()) })
	grant, err := v.Authorize(ctx, q)
	if len(links) == 0 && errors.Is(err, ucan.ErrMissingProof) {
		err = &ucan.VerifyError{Err: ucan.ErrMissingProof, Detail: "the files hold no token"}
	}
	return grant, err
}
