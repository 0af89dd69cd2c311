package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"usher/tools/fault"
	"usher/venue/config"
)

// Bounds of asking a provider: any token can name a key that nobody has. What it is asked for
// such tokens brings its new keys too, so that these are known at most askEvery late.
const (
	fetchTime = 10 * time.Second
	askEvery  = 5 * time.Second // once it was asked maxAsks times
	maxAsks   = 4
	maxSent   = 12  // codes of people who sign in, which take turns of their own
	maxUser   = 128 // bytes of a user's name

	maxFetched = 1 << 20 // bytes of an answer
)

// fetches bounds how often a provider is asked.
type fetches struct {
	now        func() time.Time
	keys, sent *rate.Limiter
}

func newFetches(now func() time.Time) *fetches {
	return &fetches{now, rate.NewLimiter(rate.Every(askEvery), maxAsks), rate.NewLimiter(rate.Every(askEvery), maxSent)}
}

// RoundTrip is that of [http.DefaultTransport], with an answer that is bounded.
func (f *fetches) RoundTrip(req *http.Request) (*http.Response, error) {
	turns := f.keys
	if req.Method != http.MethodGet {
		turns = f.sent
	}
	if !turns.AllowN(f.now(), 1) {
		return nil, fmt.Errorf("%s is asked every %s at most: try again then", req.URL.Host, askEvery)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	res.Body = http.MaxBytesReader(nil, res.Body, maxFetched)
	return res, nil
}

// algorithms are those of ID tokens that are taken: RFC 7518, and RFC 8037 for the last.
var algorithms = []string{oidc.RS256, oidc.ES256, oidc.EdDSA}

// provider fetches the keys of a [config.Provider] when they are first needed, and again when a
// key that it does not have signed something.
type provider struct {
	config.Provider
	now    func() time.Time
	client *http.Client
	log    *slog.Logger

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	endpoint oauth2.Endpoint
	failed   time.Time // when the provider was not reached
}

var errUnreached = fault.New(fault.Unavailable, "who signs in there is not known now, as the provider is not reached")

// retryAfter is how long a provider is left alone that was not reached.
const retryAfter = 5 * time.Second

// ready returns what verifies tokens of the provider. A provider that is not reached
// refuses its own tokens, and holds up nobody else.
func (p *provider) ready(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.verifier != nil {
		return p.verifier, nil
	}
	if since := p.now().Sub(p.failed); since >= 0 && since < retryAfter {
		return nil, fault.New(fault.Unavailable, fmt.Sprintf("provider %s was not reached a moment ago: try again", p.Name))
	}
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.Issuer)
	if err != nil {
		p.failed = p.now()
		p.log.WarnContext(ctx, "a provider of OpenID Connect is not reached", "provider", p.Name, "error", err)
		return nil, fmt.Errorf("%w: provider %s", errUnreached, p.Name)
	}
	p.endpoint = found.Endpoint()
	p.verifier = found.Verifier(&oidc.Config{ClientID: p.ClientID, SupportedSigningAlgs: algorithms, Now: p.now})
	return p.verifier, nil
}

// unsigned begins an error of a signature, which may say how the provider's keys were looked for.
const unsigned = "failed to verify signature"

var errSignature = errors.New("its signature is by none of the keys that are known of it now")

// plain is why an ID token is none, as anybody may be told it.
func (p *provider) plain(ctx context.Context, err error) error {
	if !strings.HasPrefix(err.Error(), unsigned) {
		return err
	}
	p.log.InfoContext(ctx, "the signature of an ID token is not verified", "provider", p.Name, "error", err)
	return errSignature
}

// openID reads an ID token of a provider, with the nonce that it has.
func (r *Room) openID(ctx context.Context, p *provider, token string) (_ *Identity, nonce string, err error) {
	verifier, err := p.ready(ctx)
	if err != nil {
		return nil, "", err
	}
	id, err := verifier.Verify(ctx, token)
	if err != nil {
		return nil, "", &Refusal{"provider " + p.Name + " did not sign it for this venue as it is", p.plain(ctx, err)}
	}
	name, err := p.user(id)
	if err != nil {
		return nil, "", err
	}
	did, err := r.Keys.User(ctx, name)
	if err != nil {
		return nil, "", err
	}
	signedIn := id.IssuedAt
	var says struct {
		AuthTime int64 `json:"auth_time"`
	}
	if err := id.Claims(&says); err == nil && says.AuthTime > 0 {
		signedIn = time.Unix(says.AuthTime, 0)
	}
	valid := func(context.Context) error {
		if r.Now().After(id.Expiry) {
			return refuse("it expired at %s: sign in again", id.Expiry.UTC().Format(time.RFC3339))
		}
		return nil
	}
	return &Identity{Authority: r.Mint.User(did), Kind: openID, Expires: id.Expiry, SignedIn: signedIn, Valid: valid}, id.Nonce, nil
}

// user is what the venue calls the person of an ID token.
func (p *provider) user(id *oidc.IDToken) (string, error) {
	who := id.Subject
	if p.Claim != "" && p.Claim != "sub" {
		var claims map[string]any
		if err := id.Claims(&claims); err != nil {
			return "", &Refusal{"its claims are not read", err}
		}
		who, _ = claims[p.Claim].(string)
		if verified, _ := claims["email_verified"].(bool); p.Claim == "email" && !verified {
			return "", refuse("provider %s has not verified its email (email_verified)", p.Name)
		}
	}
	if who == "" {
		return "", refuse("it has no %s, by which provider %s says who somebody is", p.Claim, p.Name)
	}
	if who = p.Name + ":" + who; len(who) > maxUser {
		return "", refuse("the name %d bytes long that it gives is too long: at most %d", len(who), maxUser)
	}
	return who, nil
}
