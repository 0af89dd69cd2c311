package ucan

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// use marks an invocation as used, by its issuer and nonce, in one test-and-set:
// of any number of callers one succeeds and the others get [ErrReplayed]. The CID
// would not do, since its issuer can sign the same call twice.
func (s *Store) use(ctx context.Context, inv *Invocation) error {
	digest := sha256.Sum256(inv.nonce)
	place := inv.Issuer.key() + string(digest[:])
	used := s.prefix + keyUsed + place
	moved, err := s.kv.Apply(ctx, map[string]uint64{used: 0}, map[string][]byte{
		used: {},
		s.prefix + keyUsedByExpiry + timeKey(inv.exp) + place: {},
	}, nil)
	if err != nil {
		return fmt.Errorf("mark invocation %s as used: %w", inv.CID, err)
	}
	if moved != "" {
		return &VerifyError{Err: ErrReplayed, CID: inv.CID}
	}
	return nil
}

// sweepBatch bounds the keys of one transaction.
const sweepBatch = 500

// Sweep removes the tokens, used invocations and revocations of tokens that
// expired before a time, with all their indexes, and returns how many entries
// went. Give it a time that is earlier than now by the skew of [Limits] at least:
// what is swept is forgotten, that it was used or revoked included. So it goes no
// further than the sweep before was told to, and one wrong reading of the clock
// makes nothing forgotten.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	agreed, err := s.agree(ctx, before.Unix())
	if err != nil {
		return 0, err
	}
	total := 0
	for _, kind := range []struct {
		index string
		keys  func(ctx context.Context, place string) ([]string, error)
		drop  func(place string)
	}{
		{keyExpiry, s.tokenKeys, s.forgetToken},
		{keyUsedByExpiry, func(_ context.Context, place string) ([]string, error) {
			return []string{keyUsed + place}, nil
		}, func(string) {}},
		{keyRevExpiry, func(_ context.Context, place string) ([]string, error) {
			return []string{keyRevocation + place}, nil
		}, s.forgetRevocation},
	} {
		places, err := s.expired(ctx, kind.index, agreed)
		if err != nil {
			return total, err
		}
		var del []string
		var gone []string
		flush := func() error {
			s.changes.Lock()
			defer s.changes.Unlock()
			if _, err := s.kv.Apply(ctx, nil, nil, del); err != nil {
				return fmt.Errorf("sweep: %w", err)
			}
			for _, p := range gone {
				kind.drop(p)
			}
			total += len(gone)
			del, gone = nil, nil
			return nil
		}
		for _, p := range places {
			keys, err := kind.keys(ctx, p[8:])
			if err != nil {
				return total, err
			}
			for _, k := range append(keys, kind.index+p) {
				del = append(del, s.prefix+k)
			}
			gone = append(gone, p[8:])
			if len(del) >= sweepBatch {
				if err := flush(); err != nil {
					return total, err
				}
			}
		}
		if len(gone) > 0 {
			if err := flush(); err != nil {
				return total, err
			}
		}
	}
	return total, nil
}

// agree returns the earlier of before and what the last sweep was told, which it
// replaces.
func (s *Store) agree(ctx context.Context, before int64) (int64, error) {
	key := s.prefix + keySwept
	last, _, err := s.kv.Get(ctx, key)
	if err == nil {
		_, err = s.kv.Apply(ctx, nil, map[string][]byte{key: []byte(timeKey(max(before, 0)))}, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	if len(last) != 8 {
		return 0, nil
	}
	return min(before, int64(binary.BigEndian.Uint64(last))), nil
}

// expired lists the keys of an index by expiry, without the index's name: eight
// bytes of time and the place.
func (s *Store) expired(ctx context.Context, index string, before int64) ([]string, error) {
	var places []string
	end := timeKey(max(before, 0))
	err := s.scan(ctx, index, func(key string) (bool, error) {
		if len(key) < 8 || key[:8] >= end {
			return false, nil
		}
		places = append(places, key)
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	return places, nil
}

// tokenKeys lists every key of a token, the one by expiry excepted.
func (s *Store) tokenKeys(ctx context.Context, place string) ([]string, error) {
	keys := []string{keyToken + place}
	raw, rev, err := s.kv.Get(ctx, s.prefix+keyToken+place)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	if rev == 0 {
		return keys, nil
	}
	l, err := s.limits.decode(raw)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	index := l.indexKeys()
	return append(append(keys, index[:]...), keyAudience+l.audiencePlace(), keyRetired+l.audiencePlace()), nil
}

func (s *Store) forgetToken(place string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := cidFromShort([]byte(place))
	if l := s.tokens[c]; l != nil {
		delete(s.audiences, l.Audience) // read again, without it, when it is needed
	}
	delete(s.tokens, c)
}

func (s *Store) forgetRevocation(place string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, revoker := cidFromShort([]byte(place[:shortCID])), didOf([]byte(place[shortCID:]))
	kept := make([]DID, 0, len(s.revoked[c]))
	for _, d := range s.revoked[c] {
		if d != revoker {
			kept = append(kept, d)
		}
	}
	if s.revoked[c] = kept; len(kept) == 0 {
		delete(s.revoked, c)
	}
}
