package ucan

import (
	"context"
	"iter"
)

// All yields all tokens that are stored.
func (s *Store) All(ctx context.Context) iter.Seq2[*Link, error] { return s.list(ctx, keyIssuer) }

// AllRevocations yields all revocations, in no order.
func (s *Store) AllRevocations(ctx context.Context) iter.Seq2[*Revocation, error] {
	return func(yield func(*Revocation, error) bool) {
		s.mu.RLock()
		revoked := make([]CID, 0, len(s.revoked))
		for c := range s.revoked {
			revoked = append(revoked, c)
		}
		s.mu.RUnlock()
		for _, c := range revoked {
			list, err := s.Revocations(ctx, c)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range list {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}
