package ucan

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

// use marks an invocation as used, by its issuer and nonce, in one test-and-set:
// of any number of callers one succeeds and the others get [ErrReplayed]. The CID
// would not do, since its issuer can sign the same call twice. A mark is one key of
// 66 bytes, and stays for good: a clock that is put back makes an invocation live
// again.
func (s *Store) use(ctx context.Context, inv *Invocation) error {
	digest := sha256.Sum256(inv.nonce)
	used := keyUsed + inv.Issuer.key() + string(digest[:])
	moved, err := s.kv.Apply(ctx, map[string]uint64{used: 0}, map[string][]byte{used: {}}, nil)
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

// Sweep removes the tokens that expired before a time, with all their indexes, and
// returns how many went. A token that is gone can be stored again. What a wrong
// clock could bring to life again stays, by whatever clock: revocations, and the
// marks of used invocations.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	until := timeKey(max(before.Unix(), 0))
	for total := 0; ; {
		n, listed, err := s.sweep(ctx, until)
		total += n
		if err != nil {
			return total, fmt.Errorf("sweep: %w", err)
		}
		if listed < sweepBatch {
			return total, nil
		}
	}
}

// sweep removes the next tokens that expired before a time. listed is how many
// entries it took from the list; earlier states listed what stays, too.
func (s *Store) sweep(ctx context.Context, before string) (tokens, listed int, err error) {
	s.changes.Lock()
	defer s.changes.Unlock()
	entries, _, err := s.kv.PageKeys(ctx, keyExpiry, "", sweepBatch)
	if err != nil {
		return 0, 0, err
	}
	var gone []string
	for _, entry := range entries {
		const at = len(keyExpiry) + 8
		if len(entry) < at || entry[len(keyExpiry):at] >= before {
			break
		}
		gone = append(gone, entry)
		listed++
		key := entry[at:]
		if !strings.HasPrefix(key, keyToken) {
			continue
		}
		tokens++
		gone = append(gone, key)
		raw, rev, err := s.kv.Get(ctx, key)
		if err != nil {
			return 0, 0, err
		}
		if rev != 0 {
			l, err := Limits{}.decode(raw)
			if err != nil {
				return 0, 0, err
			}
			gone = append(gone, l.indexKeys()...)
		}
	}
	if listed == 0 {
		return 0, 0, nil
	}
	if _, err := s.kv.Apply(ctx, nil, nil, gone); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range gone {
		s.forget(key)
	}
	return tokens, listed, nil
}

// forget drops from memory what was swept; s.mu is held.
func (s *Store) forget(key string) {
	switch place := []byte(key[2:]); key[:2] {
	case keyToken:
		c, _ := cidFromBytes(place)
		delete(s.tokens, c)
	case keyAudience:
		delete(s.audiences, didOf(place[:keySize])) // read again, without it, when it is needed
	}
}
