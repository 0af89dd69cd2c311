package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/tokens"
	"usher/ucan"
	"usher/venue/store"
)

var _ tokens.Service = (*Room)(nil)

// record is a token of the venue as it is stored, at tok/<owner>/<name>. The token's jti
// is "<name>/<id>": who uses a name again revokes what had it before.
type record struct {
	ID      string `json:"id"`
	Created int64  `json:"created"` // ms
	Expires int64  `json:"expires"` // ms
	Used    int64  `json:"used"`    // ms, an hour ago at most; 0 never was
}

// maxTokens is how many tokens a principal may have.
const maxTokens = 256

func tokensOf(owner ucan.DID) string              { return "tok/" + owner.String() + "/" }
func tokenKey(owner ucan.DID, name string) string { return tokensOf(owner) + name }

var errInPerson = fault.New(fault.Refused, "a token is the word of a person who may do all: an agent, a program that one wrote, and whoever came in with bounds neither make nor revoke any")

// inPerson refuses whoever the bearer of the token could do more than.
func inPerson(call tools.Call) error {
	if !call.Authority().IsUnbounded() {
		return errInPerson
	}
	return nil
}

// Create is that of [tokens.Service].
func (r *Room) Create(ctx context.Context, call tools.Call, in tokens.New) (tokens.CreateResult, error) {
	if err := inPerson(call); err != nil {
		return tokens.CreateResult{}, err
	}
	life, err := in.Life()
	if err != nil {
		return tokens.CreateResult{}, err
	}
	owner := call.Owner()
	held, _, err := r.making.Lock(ctx, owner.String())
	if err != nil {
		return tokens.CreateResult{}, err
	}
	defer held.Unlock()
	list, err := r.list(ctx, owner)
	if err != nil {
		return tokens.CreateResult{}, err
	}
	hold := slices.DeleteFunc(slices.Clone(list), func(t tokens.Token) bool { return r.Now().UnixMilli() > t.Expires })
	if len(hold) >= maxTokens {
		return tokens.CreateResult{}, fault.New(fault.LimitReached, fmt.Sprintf("you have %d tokens that hold, as many as a principal may: revoke some (token:revoke)", len(hold)))
	}
	if len(list) >= maxTokens {
		if err := r.tidy(ctx, owner, list); err != nil {
			return tokens.CreateResult{}, err
		}
	}
	id, err := r.NewID()
	if err != nil {
		return tokens.CreateResult{}, err
	}
	now := r.Now().Truncate(time.Second)
	if end := call.Authority().ProofEnd(); !end.IsZero() && now.Add(life).After(end) {
		if in.For != "" {
			return tokens.CreateResult{}, fault.New(fault.Refused, fmt.Sprintf("what you came with ends at %s, and a token that it makes ends by then: ask for less, sign in again, or make it at the venue's own machine (usher token create)", end.UTC().Format(time.RFC3339)))
		}
		life = end.Sub(now)
	}
	rec := record{ID: id, Created: now.UnixMilli(), Expires: now.Add(life).UnixMilli()}
	raw, err := json.Marshal(rec)
	if err != nil {
		return tokens.CreateResult{}, err
	}
	text, err := r.sign(owner, in.Name, &rec)
	if err != nil {
		return tokens.CreateResult{}, err
	}
	at := tokenKey(owner, in.Name)
	moved, err := r.Store.Apply(ctx, map[string]uint64{at: 0}, map[string][]byte{at: raw}, nil)
	if err == nil && moved != "" {
		err = fault.New(fault.InTheWay, fmt.Sprintf("there is a token %s: choose another name, or revoke that one first", in.Name))
	}
	if err != nil {
		return tokens.CreateResult{}, fmt.Errorf("create token: %w", err)
	}
	return tokens.CreateResult{Token: tokenView(in.Name, &rec), Secret: text}, nil
}

// tidy removes the tokens of a list that have expired by every clock.
func (r *Room) tidy(ctx context.Context, owner ucan.DID, list []tokens.Token) error {
	now, sure := r.Sure(ctx)
	if !sure {
		return nil
	}
	var over []string
	for _, t := range list {
		if now.Add(-skew).UnixMilli() > t.Expires {
			over = append(over, tokenKey(owner, t.Name))
		}
	}
	if _, err := r.Store.Apply(ctx, nil, nil, over); err != nil {
		return fmt.Errorf("remove tokens that have expired: %w", err)
	}
	return nil
}

// sign writes the JWT. It is written here, as no signer of a library takes a key that
// shows nobody its private half.
func (r *Room) sign(owner ucan.DID, name string, rec *record) (string, error) {
	venue := r.Keys.Venue()
	did := venue.DID().String()
	header, err := json.Marshal(map[string]string{"alg": "EdDSA", "typ": "JWT", "kid": venue.DID().Multikey()})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(jwt.Claims{
		Issuer: did, Subject: owner.String(), Audience: jwt.Audience{did}, ID: name + "/" + rec.ID,
		IssuedAt: jwt.NewNumericDate(time.UnixMilli(rec.Created)), Expiry: jwt.NewNumericDate(time.UnixMilli(rec.Expires)),
	})
	if err != nil {
		return "", err
	}
	text := b64.EncodeToString(header) + "." + b64.EncodeToString(claims)
	return text + "." + b64.EncodeToString(venue.Sign([]byte(text))), nil
}

// List is that of [tokens.Service].
func (r *Room) List(ctx context.Context, call tools.Call, _ tokens.Query) (tokens.Listing, error) {
	list, err := r.list(ctx, call.Owner())
	return tokens.Listing{Tokens: list}, err
}

func (r *Room) list(ctx context.Context, owner ucan.DID) ([]tokens.Token, error) {
	list := []tokens.Token{}
	for row, err := range store.Rows(ctx, r.Store, tokensOf(owner), "") {
		if err != nil {
			return nil, fmt.Errorf("list tokens: %w", err)
		}
		var rec record
		if err := json.Unmarshal(row.Value, &rec); err != nil {
			return nil, fmt.Errorf("read token %s: %w", row.Key, err)
		}
		list = append(list, tokenView(strings.TrimPrefix(row.Key, tokensOf(owner)), &rec))
	}
	return list, nil
}

func tokenView(name string, rec *record) tokens.Token {
	return tokens.Token{Name: name, Created: rec.Created, Expires: rec.Expires, Used: rec.Used}
}

// Revoke is that of [tokens.Service].
func (r *Room) Revoke(ctx context.Context, call tools.Call, in tokens.Ref) (tokens.RevokeResult, error) {
	if err := inPerson(call); err != nil {
		return tokens.RevokeResult{}, err
	}
	at := tokenKey(call.Owner(), in.Name)
	raw, _, err := r.Store.Get(ctx, at)
	if err == nil && raw != nil {
		_, err = r.Store.Apply(ctx, nil, nil, []string{at})
	}
	return tokens.RevokeResult{Name: in.Name, Revoked: err == nil && raw != nil}, err
}

// venueToken reads a token that the venue signed. It holds as long as it stands in the
// list of its principal.
func (r *Room) venueToken(ctx context.Context, token string) (*Identity, error) {
	sum := sha256.Sum256([]byte(token))
	id := r.opened.get(sum)
	if id == nil {
		c, _, err := r.open(token, func(*jwt.Claims) (ucan.DID, error) { return r.Keys.Venue().DID(), nil })
		if err != nil {
			return nil, err
		}
		owner, err := ucan.ParseDID(c.Subject)
		name, number, whole := strings.Cut(c.ID, "/")
		if err != nil || !whole {
			return nil, refuse("its sub or its jti is not as this venue writes them")
		}
		valid := func(ctx context.Context) error {
			if err := r.checkTimes(c); err != nil {
				return err
			}
			return r.stands(ctx, tokenKey(owner, name), number)
		}
		id, err = r.admit(&Identity{Authority: r.principal(owner), Kind: venueToken, Expires: c.Expiry.Time(), Valid: valid, row: tokenKey(owner, name), number: number})
		if err == nil {
			err = id.Valid(ctx)
		}
		if err != nil {
			return nil, err
		}
		r.opened.put(sum, id)
		return id, nil
	}
	return id, id.Valid(ctx)
}

// stands reports what is wrong with a token by the list of its principal, and notes
// there once an hour that it is used.
func (r *Room) stands(ctx context.Context, at, number string) error {
	rec, rev, err := r.listRow(ctx, at, number)
	if err != nil {
		return err
	}
	now := r.Now()
	if now.Sub(time.UnixMilli(rec.Used)) < time.Hour {
		return nil
	}
	rec.Used = now.UnixMilli()
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if _, err := r.Store.Apply(ctx, map[string]uint64{at: rev}, map[string][]byte{at: raw}, nil); err != nil && !errors.Is(err, context.Canceled) {
		r.Logger.WarnContext(ctx, "it is not noted that a token was used", "error", err)
	}
	return nil
}

// listRow returns the row of a token in the list of its principal.
func (r *Room) listRow(ctx context.Context, at, number string) (rec record, rev uint64, err error) {
	raw, rev, err := r.Store.Get(ctx, at)
	if err != nil {
		return rec, 0, fmt.Errorf("look for a bearer token: %w", err)
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &rec); err != nil {
			return rec, 0, fmt.Errorf("read token: %w", err)
		}
	}
	if rec.ID != number {
		return rec, 0, refuse("it was revoked: make another (usher token create)")
	}
	return rec, rev, nil
}

// IsRevoked reports whether a token that stood in the list has been revoked since: by its row
// then and its row now, which is nil where there is none.
func IsRevoked(then, now []byte) (bool, error) {
	var was, is record
	err := json.Unmarshal(then, &was)
	if err == nil && now != nil {
		err = json.Unmarshal(now, &is)
	}
	if err != nil {
		return false, fmt.Errorf("read token: %w", err)
	}
	return is.ID != was.ID, nil
}

// tokenCache has tokens of the venue whose signature was checked. Whether they stand is looked
// up for each call.
type tokenCache struct {
	mu   sync.Mutex
	list map[[sha256.Size]byte]*Identity
}

// maxSeen is how many are remembered.
const maxSeen = 4096

func (s *tokenCache) get(sum [sha256.Size]byte) *Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[sum]
}

func (s *tokenCache) put(sum [sha256.Size]byte, id *Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil || len(s.list) >= maxSeen {
		s.list = make(map[[sha256.Size]byte]*Identity)
	}
	s.list[sum] = id
}
