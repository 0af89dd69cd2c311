package ucan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"
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
}

// Bounds of what a [Store] keeps in memory. Beyond them something is forgotten
// and read again when it is needed.
const (
	maxCachedTokens    = 1 << 16 // tokens by CID
	maxCachedAudiences = 1 << 16 // principals, with all that is made out to them
	// Revocations stay for good, and one of a token that is not stored costs its
	// revoker nothing else, so each may leave this many of those.
	maxUnknownRevocations = 1000
)

// Store holds tokens, revocations and used invocations. All revocations, and the
// tokens of the audiences asked about lately, are in memory as well, so that a
// call touches the disk only for what is new. It expects to be the only writer of
// its part of the KV. Safe for concurrent use.
//
// Revocations and the marks of used invocations stay for good. A revocation costs
// two keys, some 0.5 KiB on disk and 230 bytes of memory, and one step to look up,
// however many there are; to open a store with a million of them takes a second or
// two longer.
type Store struct {
	kv KV

	maxTokens, maxAudiences, maxUnknown int

	// changes makes a change of the revocations on disk and in memory one step. It
	// is taken before mu.
	changes sync.Mutex
	fed     uint64 // number of the last in the feed of revocations; guarded by changes
	lined   bool   // fed is known; guarded by changes

	// mu guards what follows. It is never held during a call to kv.
	mu        sync.RWMutex
	tokens    map[CID]*Link
	audiences map[DID]*audience
	revoked   map[CID][]DID

	revocations atomic.Uint64 // since it was opened
}

// RevocationCount is another number after every revocation.
func (s *Store) RevocationCount() uint64 { return s.revocations.Load() }

// OpenStore reads the revocations and returns the store, which has all of kv.
func OpenStore(ctx context.Context, kv KV) (*Store, error) {
	s := &Store{
		kv: kv, maxTokens: maxCachedTokens, maxAudiences: maxCachedAudiences, maxUnknown: maxUnknownRevocations,
		tokens: map[CID]*Link{}, audiences: map[DID]*audience{}, revoked: map[CID][]DID{},
	}
	keys, err := s.keys(ctx, keyRevocation)
	for _, key := range keys {
		c, revoker, ok := revocationAt(key)
		if !ok {
			err = fmt.Errorf("a revocation has a key of %d bytes", len(key))
			break
		}
		s.revoked[c] = append(s.revoked[c], revoker)
	}
	if err != nil {
		return nil, fmt.Errorf("open token store: %w", err)
	}
	return s, nil
}

// keys returns the keys below prefix.
func (s *Store) keys(ctx context.Context, prefix string) (all []string, err error) {
	for next := ""; ; {
		var page []string
		if page, next, err = s.kv.PageKeys(ctx, prefix, next, 256); err != nil {
			return nil, err
		}
		if all = append(all, page...); next == "" {
			return all, nil
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
	token := keyToken + link.CID.key()
	put := map[string][]byte{token: link.raw, keyExpiry + timeKey(link.exp) + token: nil}
	for _, key := range link.indexKeys() {
		put[key] = nil
	}
	if _, err := s.kv.Apply(ctx, nil, put, nil); err != nil {
		return fmt.Errorf("store token %s: %w", link.CID, err)
	}
	dead := s.dead(link)
	s.mu.Lock()
	defer s.mu.Unlock()
	remember(s.tokens, s.maxTokens, link.CID, link)
	if a := s.audiences[link.Audience]; a == nil || a.by == nil || dead {
		delete(s.audiences, link.Audience)
	} else {
		s.audiences[link.Audience] = a.with(link)
	}
	return nil
}

// remember puts a value into memory, in the place of any other where that is full.
func remember[K comparable, V any](memory map[K]V, most int, key K, v V) {
	if len(memory) >= most {
		for other := range memory {
			delete(memory, other)
			break
		}
	}
	memory[key] = v
}

// Get returns a token, or an error that wraps [ErrMissingProof].
func (s *Store) Get(ctx context.Context, c CID) (*Link, error) {
	s.mu.RLock()
	link := s.tokens[c]
	s.mu.RUnlock()
	if link != nil {
		return link, nil
	}
	raw, rev, err := s.kv.Get(ctx, keyToken+c.key())
	if err == nil && rev == 0 {
		return nil, &VerifyError{Err: ErrMissingProof, CID: c}
	}
	if err == nil {
		link, err = Limits{}.decode(raw)
	}
	if err == nil && link.CID != c {
		err = fmt.Errorf("the store holds %s in its place", link.CID)
	}
	if err == nil {
		_, err = link.resolve(s.finder(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("read token %s: %w", c, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.tokens[c]; have != nil {
		return have, nil
	}
	remember(s.tokens, s.maxTokens, c, link)
	return link, nil
}

func (s *Store) finder(ctx context.Context) func(CID) (*Link, error) {
	return func(c CID) (*Link, error) { return s.Get(ctx, c) }
}

// All yields all tokens that are stored.
func (s *Store) All(ctx context.Context) iter.Seq2[*Link, error] { return s.list(ctx, keyIssuer) }

// ByAudience lists the tokens made out to a principal, soonest expiry first.
func (s *Store) ByAudience(ctx context.Context, aud DID) iter.Seq2[*Link, error] {
	return s.list(ctx, keyAudience+aud.key())
}

// ByIssuer lists the tokens that a principal issued.
func (s *Store) ByIssuer(ctx context.Context, iss DID) iter.Seq2[*Link, error] {
	return s.list(ctx, keyIssuer+iss.key())
}

// list reads the tokens whose CIDs end the keys below prefix.
func (s *Store) list(ctx context.Context, prefix string) iter.Seq2[*Link, error] {
	return each(ctx, s, "tokens", prefix, func(key string) (*Link, error) {
		c, ok := cidFromBytes([]byte(key[max(0, len(key)-cidBytes):]))
		if !ok {
			return nil, fmt.Errorf("list tokens: a key of %d bytes", len(key))
		}
		return s.Get(ctx, c)
	})
}

// each reads what the keys below prefix name. The keys are read first, so the loop's body may write to
// the store.
func each[T any](ctx context.Context, s *Store, what, prefix string, read func(key string) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		keys, err := s.keys(ctx, prefix)
		if err != nil {
			yield(*new(T), fmt.Errorf("list %s: %w", what, err))
			return
		}
		for _, key := range keys {
			found, err := read(key)
			if errors.Is(err, ErrMissingProof) {
				continue // swept since
			}
			if !yield(found, err) || err != nil {
				return
			}
		}
	}
}

// Keys of the store, below its prefix. DIDs stand as their 32-byte keys, CIDs in
// binary, times as big-endian seconds, so that scans come in order of time.
//
//	t/<cid>                    the token
//	a/<audience><expiry><cid>  tokens made out to somebody
//	i/<issuer><cid>            tokens issued by somebody
//	v/<cid><revoker>           a signed revocation
//	f/<number><cid><revoker>   revocations in the order in which they came
//	u/<revoker><cid>           those of tokens that were not known here
//	n/<issuer><sha256 nonce>   an invocation that was used
//	x/<expiry><key>            tokens by when they may go
const (
	keyToken      = "t/"
	keyAudience   = "a/"
	keyIssuer     = "i/"
	keyRevocation = "v/"
	keyFeed       = "f/"
	keyUnknown    = "u/"
	keyUsed       = "n/"
	keyExpiry     = "x/"

	keySize = 32
)

// never is the expiry of a token without one.
const never = math.MaxInt64 - 1

func (c CID) key() string { return string(c.Bytes()) }

func (d DID) key() string { return string(d.PublicKey()) }

func timeKey(seconds int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(seconds)))
}

// indexKeys lists the keys below which a token can be found.
func (l *Link) indexKeys() []string {
	c := l.CID.key()
	return []string{keyAudience + l.Audience.key() + timeKey(l.exp) + c, keyIssuer + l.Issuer.key() + c}
}
