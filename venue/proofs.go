package venue

import (
	"fmt"

	"usher/tools/fault"
	"usher/ucan"
)

var errProofs = fault.New(fault.InvalidInput, "the proofs are not taken")

// WithProofs returns the principal with tokens that delegate something to it, which it
// brings along beside those that it has brought already.
func (p *Principal) WithProofs(proofs ...string) (*Principal, error) {
	if len(proofs) == 0 {
		return p, nil
	}
	links, size, err := readProofs(proofs, p.brought)
	if err != nil {
		return nil, err
	}
	more := *p
	more.auth = p.auth.WithProofs(links...)
	more.brought = size
	return &more, nil
}

// proofLoad is how much a principal brings along.
type proofLoad struct{ tokens, bytes int }

// readProofs reads tokens that come beside others.
func readProofs(proofs []string, beside proofLoad) ([]*ucan.Link, proofLoad, error) {
	beside.tokens += len(proofs)
	for _, proof := range proofs {
		beside.bytes += len(proof)
	}
	if beside.tokens > maxProofs || beside.bytes > maxProofBytes {
		return nil, beside, fmt.Errorf("%w: %d proofs of %d bytes: bring at most %d, of %d bytes together, and import those that last", errProofs, beside.tokens, beside.bytes, maxProofs, maxProofBytes)
	}
	links := make([]*ucan.Link, len(proofs))
	for i, proof := range proofs {
		var err error
		if links[i], err = ucan.OpenText(proof); err != nil {
			return nil, beside, fmt.Errorf("%w: proof %d: %w", errProofs, i+1, err)
		}
	}
	return links, beside, nil
}
