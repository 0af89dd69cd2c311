package ucan

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
)

// KV is the storage that [OpenStore] builds on. The venue's store is one.
type KV interface {
	// Get returns the value of key and its revision, which every write changes.
	// Revision 0 says that the key is absent.
	Get(ctx context.Context, key string) (value []byte, rev uint64, err error)
	// PageKeys returns at most limit of the keys with prefix that are not below
	// from, in byte order, and where the next page begins: "" when nothing follows.
	PageKeys(ctx context.Context, prefix, from string, limit int) (keys []string, next string, err error)
	// Apply puts and deletes in one transaction if every key of expect still has
	// its revision. Otherwise nothing is written, and it returns a key that moved.
	Apply(ctx context.Context, expect map[string]uint64, put map[string][]byte, del []string) (moved string, err error)
	// Sync returns once everything applied before is on disk.
	Sync(ctx context.Context) error
}

// Bounds of what a [Store] keeps in memory. Beyond them something is forgotten
// and read again when it is needed.
const (
	maxCachedTokens    = 1 << 16 // tokens by CID
	maxCachedAudiences = 1 << 16 // principals, with all that is made out to them
	// Revocations of tokens that are not stored stay for ever, since nothing says
	// when they are over, so each revoker may leave this many.
	maxUnboundRevocations = 1000
)

// Store holds tokens, revocations and used invocations. All revocations, and the
// tokens of the audiences asked about lately, are in memory as well, so that a
// call touches the disk only for what is new. It expects to be the only writer of
// its part of the KV. Safe for concurrent use.
type Store struct {
	kv KV

	maxTokens, maxAudiences, maxUnbound int

	// changes makes a change of the tokens or the revocations on disk and in memory
	// one step, so that neither overlooks the other between the two. It is taken
	// before mu.
	changes sync.Mutex

	// mu guards what follows. It is never held during a call to kv.
	mu        sync.RWMutex
	tokens    map[CID]*Link
	audiences map[DID]*audience
	revoked   map[CID][]DID
	unbound   map[DID]int // revocations of unknown tokens, by revoker
}

// OpenStore reads the revocations and returns the store, which has all of kv.
func OpenStore(ctx context.Context, kv KV) (*Store, error) {
	s := &Store{kv: kv, maxTokens: maxCachedTokens, maxAudiences: maxCachedAudiences, maxUnbound: maxUnboundRevocations}
	if err := s.refresh(ctx); err != nil {
		return nil, fmt.Errorf("open token store: %w", err)
	}
	return s, nil
}

// refresh reads the revocations again and forgets everything else that is cached.
func (s *Store) refresh(ctx context.Context) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	revoked := map[CID][]DID{}
	err := s.scan(ctx, keyRevocation, func(key string) (bool, error) {
		if len(key) != shortCID+keySize {
			return false, fmt.Errorf("revocation key of %d bytes", len(key))
		}
		c := cidFromShort([]byte(key[:shortCID]))
		revoked[c] = append(revoked[c], didOf([]byte(key[shortCID:])))
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("read revocations: %w", err)
	}
	unbound := map[DID]int{}
	err = s.scan(ctx, expiryKey(unknownExpiry, keyRevocation), func(key string) (bool, error) {
		if len(key) != shortCID+keySize {
			return false, fmt.Errorf("revocation key of %d bytes", len(key))
		}
		unbound[didOf([]byte(key[shortCID:]))]++
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("count revocations: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens, s.audiences, s.revoked, s.unbound = map[CID]*Link{}, map[DID]*audience{}, revoked, unbound
	return nil
}

// scan gives the keys below prefix without it.
func (s *Store) scan(ctx context.Context, prefix string, fn func(key string) (more bool, err error)) error {
	for next := ""; ; {
		var keys []string
		var err error
		if keys, next, err = s.kv.PageKeys(ctx, prefix, next, 256); err != nil {
			return err
		}
		for _, key := range keys {
			if more, err := fn(key[len(prefix):]); !more || err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
	}
}

// Put stores a token with all its indexes in one transaction. The proofs that a
// JWT names must be inside it or stored already. Storing a token again is no error.
func (s *Store) Put(ctx context.Context, link *Link) error {
	if !link.verified.Load() {
		return &VerifyError{Err: ErrSignature, CID: link.CID, Detail: "it was never verified"}
	}
	if _, err := link.resolve(s.finder(ctx)); err != nil {
		return fmt.Errorf("store token: %w", err)
	}
	token := keyToken + link.CID.short()
	put := map[string][]byte{token: link.raw, keyIssuer + link.issuerPlace(): nil, expiryKey(link.exp, token): nil}
	s.changes.Lock() // a revocation comes before or after
	defer s.changes.Unlock()
	s.mu.RLock()
	dead := s.dead(link)
	s.mu.RUnlock()
	if dead {
		put[keyRetired+link.audiencePlace()] = nil
	} else {
		put[keyAudience+link.audiencePlace()] = nil
	}
	moved, err := s.kv.Apply(ctx, map[string]uint64{token: 0}, put, nil)
	if err != nil {
		return fmt.Errorf("store token %s: %w", link.CID, err)
	}
	if moved != "" {
		// The key is the hash of the value: whoever wrote it wrote the same.
		if _, rev, err := s.kv.Get(ctx, token); err != nil || rev == 0 {
			return fmt.Errorf("store token %s: %w", link.CID, errors.Join(err, errors.New("another transaction won; try again")))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache(link)
	if a := s.audiences[link.Audience]; a != nil && !dead {
		a.add(link)
	}
	return nil
}

// cache remembers a token; s.mu is held.
func (s *Store) cache(link *Link) {
	if len(s.tokens) >= s.maxTokens {
		for c := range s.tokens { // any: the next read brings it back
			delete(s.tokens, c)
			break
		}
	}
	s.tokens[link.CID] = link
}

// Get returns a token, or an error that wraps [ErrMissingProof].
func (s *Store) Get(ctx context.Context, c CID) (*Link, error) {
	s.mu.RLock()
	link := s.tokens[c]
	s.mu.RUnlock()
	if link != nil {
		return link, nil
	}
	raw, rev, err := s.kv.Get(ctx, keyToken+c.short())
	if err != nil {
		return nil, fmt.Errorf("read token %s: %w", c, err)
	}
	if rev == 0 {
		return nil, &VerifyError{Err: ErrMissingProof, CID: c}
	}
	if link, err = (Limits{}).decode(raw); err != nil {
		return nil, fmt.Errorf("read token %s: %w", c, err)
	}
	if link.CID != c {
		return nil, fmt.Errorf("read token %s: the store holds %s in its place", c, link.CID)
	}
	if _, err := link.resolve(s.finder(ctx)); err != nil {
		return nil, fmt.Errorf("read token %s: %w", c, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.tokens[c]; have != nil {
		return have, nil
	}
	s.cache(link)
	return link, nil
}

func (s *Store) finder(ctx context.Context) func(CID) (*Link, error) {
	return func(c CID) (*Link, error) { return s.Get(ctx, c) }
}

// ByAudience lists the tokens made out to a principal, soonest expiry first, and
// after them those that are revoked for good.
func (s *Store) ByAudience(ctx context.Context, aud DID) iter.Seq2[*Link, error] {
	return s.list(ctx, keyAudience+aud.key(), keyRetired+aud.key())
}

// ByIssuer lists the tokens that a principal issued.
func (s *Store) ByIssuer(ctx context.Context, iss DID) iter.Seq2[*Link, error] {
	return s.list(ctx, keyIssuer+iss.key())
}

// list reads the tokens whose CIDs end the keys below the prefixes. The CIDs are
// read first, so the loop's body may write to the store.
func (s *Store) list(ctx context.Context, prefixes ...string) iter.Seq2[*Link, error] {
	return func(yield func(*Link, error) bool) {
		var cids []CID
		for _, prefix := range prefixes {
			more, err := s.cids(ctx, prefix)
			if err != nil {
				yield(nil, err)
				return
			}
			cids = append(cids, more...)
		}
		for _, c := range cids {
			link, err := s.Get(ctx, c)
			if errors.Is(err, ErrMissingProof) {
				continue // swept since
			}
			if !yield(link, err) || err != nil {
				return
			}
		}
	}
}

func (s *Store) cids(ctx context.Context, prefix string) ([]CID, error) {
	var cids []CID
	err := s.scan(ctx, prefix, func(key string) (bool, error) {
		if len(key) < shortCID {
			return false, fmt.Errorf("index key of %d bytes", len(key))
		}
		cids = append(cids, cidFromShort([]byte(key[len(key)-shortCID:])))
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return cids, nil
}
