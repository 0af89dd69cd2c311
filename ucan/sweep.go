package ucan

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// use marks an invocation as used, by its issuer and nonce, in one test-and-set:
// of any number of callers one succeeds and the others get [ErrReplayed]. The CID
// would not do, since its issuer can sign the same call twice.
func (s *Store) use(ctx context.Context, inv *Invocation) error {
	digest := sha256.Sum256(inv.nonce)
	used := keyUsed + inv.Issuer.key() + string(digest[:])
	moved, err := s.kv.Apply(ctx, map[string]uint64{used: 0}, map[string][]byte{used: {}, expiryKey(inv.exp, used): {}}, nil)
	if err != nil {
		return fmt.Errorf("mark invocation %s as used: %w", inv.CID, err)
	}
	if moved != "" {
		return &VerifyError{Err: ErrReplayed, CID: inv.CID}
	}
	return nil
}

// sweepBatch bounds what one transaction sweeps: a token has four keys.
const sweepBatch = 80

// Sweep removes the tokens, used invocations and revocations of tokens that
// expired before a time, with all their indexes, and returns how many entries
// went. Give it a time that is earlier than now by as much as clocks may differ:
// what is swept is forgotten, that it was used or revoked included. So it goes no
// further than the sweep before was told to, and one wrong reading of the clock
// makes nothing forgotten.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	agreed, err := s.agree(ctx, before.Unix())
	for total := 0; ; {
		var n int
		if err == nil {
			n, err = s.sweep(ctx, timeKey(max(agreed, 0)))
		}
		if err != nil {
			return total, fmt.Errorf("sweep: %w", err)
		}
		if total += n; n < sweepBatch {
			return total, nil
		}
	}
}

// agree returns the earlier of before and what the last sweep was told, which it
// replaces.
func (s *Store) agree(ctx context.Context, before int64) (int64, error) {
	last, _, err := s.kv.Get(ctx, keySwept)
	if err == nil {
		_, err = s.kv.Apply(ctx, nil, map[string][]byte{keySwept: []byte(timeKey(max(before, 0)))}, nil)
	}
	if err != nil || len(last) != 8 {
		return 0, err
	}
	return min(before, int64(binary.BigEndian.Uint64(last))), nil
}

// sweep removes the next entries that expired before a time.
func (s *Store) sweep(ctx context.Context, before string) (n int, err error) {
	s.changes.Lock()
	defer s.changes.Unlock()
	listed, _, err := s.kv.PageKeys(ctx, keyExpiry, "", sweepBatch)
	if err != nil {
		return 0, err
	}
	var gone []string
	for _, entry := range listed {
		const at = len(keyExpiry) + 8
		if len(entry) < at || entry[len(keyExpiry):at] >= before {
			break
		}
		key := entry[at:]
		gone = append(gone, entry, key)
		if strings.HasPrefix(key, keyToken) {
			raw, rev, err := s.kv.Get(ctx, key)
			if err != nil {
				return 0, err
			}
			if rev != 0 {
				l, err := Limits{}.decode(raw)
				if err != nil {
					return 0, err
				}
				gone = append(gone, l.indexed()...)
			}
		}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	if _, err := s.kv.Apply(ctx, nil, nil, gone); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range gone {
		s.forget(key)
	}
	return n, nil
}

// forget drops from memory what was swept; s.mu is held.
func (s *Store) forget(key string) {
	switch place := []byte(key[2:]); key[:2] {
	case keyToken:
		c, _ := cidFromBytes(place)
		delete(s.tokens, c)
	case keyAudience:
		delete(s.audiences, didOf(place[:keySize])) // read again, without it, when it is needed
	case keyRevocation:
		c, revoker, _ := revocationAt(key)
		left := slices.DeleteFunc(slices.Clone(s.revoked[c]), func(d DID) bool { return d == revoker })
		if s.revoked[c] = left; len(left) == 0 {
			delete(s.revoked, c)
		}
	}
}
