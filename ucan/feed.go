package ucan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

// ErrCursor says that a cursor of a feed is none of this store, as it is now.
var ErrCursor = errors.New("there is no such place in the feed: begin anew, without a cursor")

// Feed returns at most limit revocations in the order in which they came to the store,
// those behind a place, and the place behind the last of them; 0 is before the first. Each
// is signed by whoever revoked, and counts for who can show that it stands in a chain.
func (s *Store) Feed(ctx context.Context, after uint64, limit int) (list []*Revocation, next uint64, err error) {
	s.changes.Lock()
	err = s.line(ctx)
	last := s.fed
	s.changes.Unlock()
	if err != nil {
		return nil, 0, err
	}
	if after > last {
		return nil, 0, ErrCursor
	}
	keys, _, err := s.kv.PageKeys(ctx, keyFeed, keyFeed+turnKey(after+1), limit)
	if err != nil {
		return nil, 0, fmt.Errorf("read feed of revocations: %w", err)
	}
	next = after
	for _, key := range keys {
		var r *Revocation
		if next, err = turnOf(key); err == nil {
			r, err = s.revocation(ctx, key[len(keyFeed)+8:])
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read feed of revocations: %w", err)
		}
		list = append(list, r)
	}
	return list, next, nil
}

// turnKey is a number of the feed, as it sorts.
func turnKey(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// turnOf is the number in a key of the feed.
func turnOf(key string) (uint64, error) {
	if len(key) <= len(keyFeed)+8 {
		return 0, fmt.Errorf("a key of %d bytes", len(key))
	}
	return binary.BigEndian.Uint64([]byte(key[len(keyFeed):])), nil
}

// line finds where the feed ends, once. The caller holds changes.
func (s *Store) line(ctx context.Context) error {
	if s.lined {
		return nil
	}
	rows, err := s.keys(ctx, keyFeed)
	if n := len(rows); err == nil && n > 0 {
		s.fed, err = turnOf(rows[n-1])
	}
	if s.lined = err == nil; err != nil {
		return fmt.Errorf("read feed of revocations: %w", err)
	}
	return nil
}

// AllRevocations yields all revocations, in the order of their names.
func (s *Store) AllRevocations(ctx context.Context) iter.Seq2[*Revocation, error] {
	return each(ctx, s, "revocations", keyRevocation, func(key string) (*Revocation, error) {
		return s.revocation(ctx, key[len(keyRevocation):])
	})
}
