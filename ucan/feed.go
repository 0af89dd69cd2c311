package ucan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrCursor says that a cursor of a feed is none of this store, as it is now.
var ErrCursor = errors.New("there is no such place in the feed: begin anew, without a cursor")

// Feed returns at most limit revocations in the order in which they came to the store,
// those behind a place, and the place behind the last of them; 0 is before the first. Those
// that came before there was a feed, or from a backup, come in the order of their names. Each
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
		if len(key) <= len(keyFeed)+8 {
			return nil, 0, fmt.Errorf("read feed of revocations: a key of %d bytes", len(key))
		}
		r, err := s.revocation(ctx, key[len(keyFeed)+8:])
		if err != nil {
			return nil, 0, fmt.Errorf("read feed of revocations: %w", err)
		}
		list, next = append(list, r), binary.BigEndian.Uint64([]byte(key[len(keyFeed):]))
	}
	return list, next, nil
}

// turnKey is a number of the feed, as it sorts.
func turnKey(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// line brings the feed into line with the revocations, once: it finds its end, and adds
// what stands in the store and not in it. The caller holds changes.
func (s *Store) line(ctx context.Context) error {
	if s.lined {
		return nil
	}
	rows, err := s.keys(ctx, keyFeed)
	if err != nil {
		return fmt.Errorf("read feed of revocations: %w", err)
	}
	in := make(map[string]struct{}, len(rows))
	for _, key := range rows {
		if len(key) > len(keyFeed)+8 {
			s.fed = binary.BigEndian.Uint64([]byte(key[len(keyFeed):]))
			in[key[len(keyFeed)+8:]] = struct{}{}
		}
	}
	all, err := s.keys(ctx, keyRevocation)
	if err != nil {
		return fmt.Errorf("read feed of revocations: %w", err)
	}
	put := make(map[string][]byte)
	flush := func() error {
		if _, err := s.kv.Apply(ctx, nil, put, nil); err != nil {
			return fmt.Errorf("complete feed of revocations: %w", err)
		}
		clear(put)
		return nil
	}
	for _, key := range all {
		name := key[len(keyRevocation):]
		if _, ok := in[name]; ok {
			continue
		}
		s.fed++
		if put[keyFeed+turnKey(s.fed)+name] = nil; len(put) == 256 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(put) > 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	s.lined = true
	return nil
}
