// Package auth is the room of a venue that says who calls: [Room.Bearer] reads the
// token that a caller bears (COG-10), and [Room.Anonymous] is for who bears none. It
// decides nothing about what the caller may do: that is the gate's.
//
// A bearer token is one of five kinds, told apart by what it says:
//
//   - a UCAN identity token: a COG-13 JWT that is made out to the venue and grants nothing;
//   - a UCAN invocation, sealed: its caller may do what it invokes, once;
//   - a self-issued JWT: sub is the caller's did:key, which signed it;
//   - a token of the venue: a JWT that the venue signed for one of its principals, which
//     stands in a list and can be revoked ([Room.Create]);
//   - an ID token of a provider of OpenID Connect that the configuration names.
//
// Each names the venue, or for the last the venue's client, in aud. A token that is none
// of these, or not right, is [Refusal]: it makes nobody anonymous.
package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/keylock"
	"usher/ucan"
	"usher/venue/config"
	"usher/venue/store"
)

// keyring has the principals of the venue: it is [keys.Ring].
type keyring interface {
	Venue() ucan.Key
	// User returns the DID of a user, whose key is made on first use.
	User(ctx context.Context, name string) (ucan.DID, error)
	// Hosts reports whether the principal's key is one of this venue's.
	Hosts(did ucan.DID) bool
	// Independent returns the life of the agent whose key the principal is, or "".
	Independent(did ucan.DID) tools.Life
}

// Options says what a room works with. All fields but Auth are needed.
type Options struct {
	Store    *store.Space // of the room alone
	Keys     keyring
	Mint     *tools.Mint
	Verifier *ucan.Verifier
	Now      func() time.Time
	Sure     func(context.Context) (now time.Time, sure bool) // of [clock.Clock]
	NewID    func() (string, error)                           // an id is no secret: others of its moment are near it
	Rand     io.Reader
	Logger   *slog.Logger
	// Secret returns a secret of the configuration's user; nil is for venues without a configuration.
	Secret func(ctx context.Context, name string) (string, error)

	Auth config.Auth // zero lets nobody in without a token
}

// AnonymousUser is the user that callers without a token are.
const AnonymousUser = "anonymous"

// Times of tokens that callers sign themselves.
const (
	defaultMaxLife = 24 * time.Hour   // between iat and exp
	skew           = 30 * time.Second // that the clock of who signed may be ahead
)

// MaxToken is the size of a bearer token, in bytes.
const MaxToken = 16 << 10

// Identity is who calls, as far as that is proved.
type Identity struct {
	Authority tools.Authority
	Kind      proof
	Guest     bool                        // nobody here knows the key
	Expires   time.Time                   // zero never does
	SignedIn  time.Time                   // when the person was asked who they are, where a provider says so
	Valid     func(context.Context) error // says why the identity is none any more

	once        func(context.Context) error // notes that a token was used that works once; nil for others
	row, number string                      // of a token of the venue, or of a session
	cid         ucan.CID                    // of a UCAN identity token
}

// justNow is how old a sign-in may be for what lasts longer than the proof of it.
const justNow = 15 * time.Minute

// WithProof returns the authority, which proves who they are for others to the end of their own proof, unless
// they have just signed in.
func (id *Identity) WithProof(now time.Time) tools.Authority {
	auth := id.Authority.WithBearer(id.bearer())
	if id.Expires.IsZero() || !id.SignedIn.IsZero() && now.Sub(id.SignedIn) < justNow {
		return auth
	}
	return auth.WithProofEnd(id.Expires)
}

// proof is how somebody proves who they are.
type proof string

// The kinds.
const (
	anonymous  proof = "anonymous"
	idToken    proof = "ucan"        // a UCAN identity token
	invocation proof = "invocation"  // a UCAN invocation
	selfIssued proof = "self-issued" // a JWT of one's own key
	venueToken proof = "venue"       // a token of the venue
	openID     proof = "oidc"
)

// Refusal says why a bearer token proves nothing. Its text quotes nothing of the token
// but public names.
type Refusal struct {
	Reason string
	Err    error // nil where Reason says all
}

func (e *Refusal) Error() string {
	if e.Err == nil {
		return "bearer token: " + e.Reason
	}
	return "bearer token: " + e.Reason + ": " + e.Err.Error()
}

func (e *Refusal) Unwrap() error { return e.Err }

// Code is [fault.Unauthenticated].
func (e *Refusal) Code() fault.Code { return fault.Unauthenticated }

func refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// ErrNoToken says that somebody calls without a token where one is needed.
var ErrNoToken = &Refusal{Reason: "there is none, and this venue lets nobody in without: send one in the header, Authorization: Bearer TOKEN (usher token create makes one)"}

// Room says who calls. It is safe for concurrent use.
type Room struct {
	Options
	providers []*provider
	opened    tokenCache
	rates     *rates
	making    *keylock.Locks // of users: their tokens are counted, and then one more is stored
}

// New returns a room. Providers are asked for their keys when a token of theirs comes.
func New(o Options) *Room {
	o.Auth.MaxLife = cmp.Or(o.Auth.MaxLife, defaultMaxLife)
	r := &Room{Options: o, rates: newRates(o.Auth.Requests, o.Auth.Guests.Requests), making: keylock.New()}
	for _, p := range o.Auth.Providers {
		r.providers = append(r.providers, &provider{Provider: p, now: o.Now, log: o.Logger, client: &http.Client{Timeout: fetchTime, Transport: newFetches(o.Now)}})
	}
	return r
}

// Anonymous is who calls without a token.
func (r *Room) Anonymous(ctx context.Context) (*Identity, error) {
	if r.Auth.Anonymous == nil {
		return nil, ErrNoToken
	}
	did, err := r.Keys.User(ctx, AnonymousUser)
	if err != nil {
		return nil, err
	}
	may, _ := r.Auth.Anonymous.Caps.Set() // nothing, where it is no list
	return &Identity{Authority: r.Mint.User(did).Narrow(may), Kind: anonymous, Guest: true, Valid: always}, nil
}

func always(context.Context) error { return nil }

// Bearer is who bears the token. What is wrong with it is a [*Refusal]. It counts as a
// request: see [Room.Take]. Of one too many nothing is noted, and its token works later.
func (r *Room) Bearer(ctx context.Context, token string) (*Identity, error) {
	id, err := r.bearer(ctx, token)
	if err == nil {
		err = r.Take(id)
	}
	if err == nil && id.once != nil {
		err = id.once(ctx)
	}
	if err != nil {
		return nil, err
	}
	return id, nil
}

func (r *Room) bearer(ctx context.Context, token string) (*Identity, error) {
	if len(token) > MaxToken {
		return nil, refuse("it has %d bytes, at most %d are read", len(token), MaxToken)
	}
	if !strings.Contains(token, ".") {
		return r.invocation(ctx, token)
	}
	says, err := peek(token)
	if err != nil {
		return nil, err
	}
	if says.isUCAN() {
		return r.identityToken(ctx, token)
	}
	for _, p := range r.providers {
		if p.Issuer == says.Issuer {
			id, _, err := r.openID(ctx, p, token)
			return id, err
		}
	}
	if strings.HasPrefix(says.Issuer, "https:") || strings.HasPrefix(says.Issuer, "http:") {
		return nil, refuse("its issuer is none of the providers that this venue trusts: they stand under auth in its configuration")
	}
	if says.Issuer == r.Keys.Venue().DID().String() {
		return r.venueToken(ctx, token)
	}
	return r.ownJWT(token)
}

// rawClaims is what a token says before anybody has looked at its signature: it chooses who
// looks, and nothing else.
type rawClaims struct {
	Issuer                        string
	Capabilities, Attenuations, V json.RawMessage
}

func (s *rawClaims) isUCAN() bool {
	return s.Capabilities != nil || s.Attenuations != nil || s.V != nil
}

func peek(token string) (s rawClaims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return s, refuse("it is no JWT: that has three parts with dots between them")
	}
	raw, err := b64.DecodeString(parts[1])
	if err != nil {
		return s, refuse("its second part is not base64url")
	}
	var claims map[string]json.RawMessage
	if err := json.Unmarshal(raw, &claims); err != nil {
		return s, refuse("its second part is no JSON object")
	}
	s.Attenuations, s.Capabilities, s.V = claims["att"], claims["cap"], claims["ucv"]
	if iss, ok := claims["iss"]; ok {
		if err := json.Unmarshal(iss, &s.Issuer); err != nil {
			return s, refuse("its iss is no text")
		}
	}
	return s, nil
}

// principal is the authority of a principal, who is an agent where the key is one's: an agent
// is bounded as an agent however it comes.
func (r *Room) principal(did ucan.DID) tools.Authority {
	if life := r.Keys.Independent(did); life != "" {
		return r.Mint.Agent(did, life)
	}
	return r.Mint.User(did)
}

// identityToken reads COG-13's JWT. A delegation authenticates nobody: whoever received
// one could come as who gave it.
func (r *Room) identityToken(ctx context.Context, token string) (*Identity, error) {
	l, err := ucan.OpenText(token)
	if err != nil {
		return nil, &Refusal{"it is no UCAN identity token", err}
	}
	switch {
	case l.Format != ucan.JWT:
		return nil, refuse("it is a UCAN of another format: an identity token is a JWT")
	case l.Audience != r.Keys.Venue().DID():
		return nil, refuse("its aud is %s, and this venue is %s", l.Audience, r.Keys.Venue().DID())
	case len(l.Capabilities()) > 0 || len(l.Agents) > 0:
		return nil, refuse("it hands on capabilities, so it says nobody's identity: sign one with att [] in person, and bring delegations as proofs")
	case !r.Keys.Hosts(l.Issuer) && (l.Expires().IsZero() || l.Expires().After(r.Now().Add(r.Auth.MaxLife+skew))):
		return nil, refuse("it ends more than %s from now: sign one for a shorter time", r.Auth.MaxLife)
	}
	valid := func(ctx context.Context) error {
		if err := r.Verifier.Check(ctx, l); err != nil {
			return &Refusal{"the identity token does not hold", err}
		}
		return nil
	}
	if err := valid(ctx); err != nil {
		return nil, err
	}
	return r.admit(&Identity{Authority: r.principal(l.Issuer), Kind: idToken, Expires: l.Expires(), Valid: valid, cid: l.CID})
}
