package ucan

import (
	"context"
	"fmt"
	"iter"
)

// All yields all tokens that are stored.
func (s *Store) All(ctx context.Context) iter.Seq2[*Link, error] { return s.list(ctx, keyIssuer) }

// AllRevocations yields all revocations, in the order of their names.
func (s *Store) AllRevocations(ctx context.Context) iter.Seq2[*Revocation, error] {
	return func(yield func(*Revocation, error) bool) {
		keys, err := s.keys(ctx, keyRevocation)
		if err != nil {
			yield(nil, fmt.Errorf("list revocations: %w", err))
			return
		}
		for _, key := range keys {
			r, err := s.revocation(ctx, key[len(keyRevocation):])
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
