package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"usher/tools/fault"
	"usher/tools/reach"
)

// Vault keeps what signing in to servers has left, sealed: nothing else gives it out.
type Vault interface {
	// Grant returns what is kept for a server; nil is none.
	Grant(ctx context.Context, server string) ([]byte, error)
	// KeepGrant keeps it, durably, and forgets it where it is nil.
	KeepGrant(ctx context.Context, server string, grant []byte) error
}

// grant is what somebody who signed in to a server has left. It is a secret.
type grant struct {
	URL          string           `json:"url"`      // of the server that alone gets the token
	Resource     string           `json:"resource"` // for which it is (RFC 8707)
	TokenURL     string           `json:"tokenUrl"`
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	Style        oauth2.AuthStyle `json:"style,omitempty"`
	Scopes       []string         `json:"scopes,omitempty"` // that were asked for
	Access       string           `json:"access"`
	Refresh      string           `json:"refresh,omitempty"`
	Expires      time.Time        `json:"expires,omitzero"` // zero is never
}

// with returns the grant with a newer token.
func (g *grant) with(t *oauth2.Token) *grant {
	next := *g
	next.Access, next.Expires = t.AccessToken, t.Expiry
	if t.RefreshToken != "" {
		next.Refresh = t.RefreshToken
	}
	return &next
}

// Times and bounds of tokens.
const (
	tokenTime  = 30 * time.Second // for an authorization server to answer
	early      = 10 * time.Second // before its end a token is renewed
	renewEvery = time.Minute      // at most, where a server refuses one that has not ended
	maxScopes  = 64
)

// bearer has the tokens of one server. It is safe for concurrent use.
type bearer struct {
	server *Server
	opts   *Options
	client *http.Client // for the authorization server

	current atomic.Pointer[grant]    // nil until somebody has signed in
	wanted  atomic.Pointer[[]string] // scopes that were too few
	refused atomic.Int64             // how often the server has asked who calls

	mu      sync.Mutex // of changes of current, and of what is kept
	loaded  bool
	renewed time.Time // last, though it had not ended
}

var _ auth.OAuthHandler = (*bearer)(nil)

func newBearer(s *Server, o *Options) *bearer {
	b := &bearer{server: s, opts: o, client: reach.Client(hintTransport{reach.Transport(tokenTime, s.OAuth.AllowPrivate || isHere(s.URL))})}
	b.client.Timeout = tokenTime
	return b
}

// hintTransport says what to do where an address is private.
type hintTransport struct{ base *http.Transport }

func (h hintTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := h.base.RoundTrip(req)
	if errors.Is(err, reach.ErrPrivate) {
		return nil, fmt.Errorf("%s: %w: say allow_private under oauth where that is meant", req.URL.Host, err)
	}
	return res, err
}

// isHere reports whether an address names this machine.
func isHere(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// currentGrant is what is kept for the server; nil where nobody has signed in.
func (b *bearer) currentGrant(ctx context.Context) (*grant, error) {
	if g := b.current.Load(); g != nil {
		return g, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loaded || b.opts.Vault == nil {
		return b.current.Load(), nil
	}
	raw, err := b.opts.Vault.Grant(ctx, b.server.ID)
	if err != nil {
		return nil, fmt.Errorf("read what signing in has left: %w", err)
	}
	b.loaded = true
	if raw == nil {
		return nil, nil
	}
	g := new(grant)
	if err := json.Unmarshal(raw, g); err != nil {
		return nil, fmt.Errorf("read what signing in has left: %w", err)
	}
	if g.URL != b.server.URL { // another server has its id by now
		return nil, nil
	}
	b.current.Store(g)
	return g, nil
}

// keep has g count from now on; nil signs out.
func (b *bearer) keep(ctx context.Context, g *grant) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.store(ctx, g)
}

// store keeps g, under the mutex.
func (b *bearer) store(ctx context.Context, g *grant) (err error) {
	var raw []byte
	if g != nil {
		if raw, err = json.Marshal(g); err != nil {
			return err
		}
	}
	if b.opts.Vault != nil {
		if err := b.opts.Vault.KeepGrant(ctx, b.server.ID, raw); err != nil {
			return fmt.Errorf("keep what signing in has left: %w", err)
		}
	}
	b.loaded = true
	b.current.Store(g)
	return nil
}

// secrets are the texts that nobody is shown.
func (b *bearer) secrets() []string {
	g := b.current.Load()
	if g == nil {
		return nil
	}
	return slices.DeleteFunc([]string{g.Access, g.Refresh, g.ClientSecret}, func(s string) bool { return s == "" })
}

// TokenSource returns nil where nobody has signed in.
func (b *bearer) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	g, err := b.currentGrant(ctx)
	if g == nil || err != nil {
		return nil, err
	}
	return source{b, ctx}, nil
}

// source has the token that counts now, for a connection.
type source struct {
	*bearer
	ctx context.Context //nolint:containedctx // Token takes none
}

// Token returns it, renewed where it has ended.
func (s source) Token() (*oauth2.Token, error) {
	g := s.current.Load()
	if g == nil { // somebody has signed out since
		return nil, &oauth2.RetrieveError{ErrorCode: "invalid_grant"}
	}
	if !g.Expires.IsZero() && s.opts.Now().Add(early).After(g.Expires) {
		var err error
		if g, err = s.renew(s.ctx, g); err != nil {
			return nil, err
		}
	}
	return &oauth2.Token{AccessToken: g.Access}, nil
}

// renew asks for another token in place of that of old, unless somebody has by now.
func (b *bearer) renew(ctx context.Context, old *grant) (*grant, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch g := b.current.Load(); {
	case g == nil || g.Refresh == "":
		return nil, &oauth2.RetrieveError{ErrorCode: "invalid_grant"}
	case g != old:
		return g, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	c := &oauth2.Config{ClientID: old.ClientID, ClientSecret: old.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: old.TokenURL, AuthStyle: old.Style}}
	// The library's own way leaves out the resource. A code without a value is none (RFC 6749, 3.2).
	t, err := c.Exchange(context.WithValue(ctx, oauth2.HTTPClient, b.client), "", oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", old.Refresh), oauth2.SetAuthURLParam("resource", old.Resource))
	if err != nil {
		return nil, err
	}
	g := old.with(t)
	if err := b.store(ctx, g); err != nil { // it counts all the same: the one before may not any more
		b.opts.Logger.ErrorContext(ctx, "a token for an MCP server cannot be kept", "server", b.server.ID, "error", err)
		b.current.Store(g)
	}
	return g, nil
}

// signInError says that a server wants to know who calls, which a person can tell it.
type signInError struct{ server string }

// Code is fault.Refused.
func (*signInError) Code() fault.Code { return fault.Refused }

func (e *signInError) Error() string {
	return fmt.Sprintf("MCP server %s asks who calls: a person can sign in by usher mcp login %s", e.server, e.server)
}

// Authorize renews a token that the server refuses, and otherwise notes what a person has
// to ask for: nobody is asked in the middle of a call.
func (b *bearer) Authorize(ctx context.Context, req *http.Request, res *http.Response) error {
	_, _ = io.CopyN(io.Discard, res.Body, maxError)
	_ = res.Body.Close()
	challenges, err := oauthex.ParseWWWAuthenticate(res.Header.Values("WWW-Authenticate"))
	if err != nil {
		challenges = nil // what it wants is not understood
	}
	scopes, more := challengeScopes(challenges)
	if res.StatusCode == http.StatusForbidden && !more {
		return nil // it refuses this caller, whom it knows
	}
	g := b.current.Load()
	if sent := req.Header.Get("Authorization"); g != nil && !more {
		if sent != "Bearer "+g.Access {
			return nil // there is another by now
		}
		if b.mayRenew(g) {
			if _, err := b.renew(ctx, g); err == nil {
				return nil
			}
		}
	}
	if more && len(scopes) > 0 {
		b.wanted.Store(&scopes)
	}
	b.refused.Add(1)
	return &signInError{b.server.ID}
}

// mayRenew reports whether a token may be renewed that has not ended: not for each refusal.
func (b *bearer) mayRenew(g *grant) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.opts.Now()
	if g.Refresh == "" || now.Sub(b.renewed) < renewEvery {
		return false
	}
	b.renewed = now
	return true
}

// challengeScopes are the scopes that a challenge names, and whether those of the token are too few
// (RFC 6750, 3.1).
func challengeScopes(challenges []oauthex.Challenge) (scopes []string, more bool) {
	for _, c := range challenges {
		if !strings.EqualFold(c.Scheme, "bearer") {
			continue
		}
		scopes = append(scopes, strings.Fields(c.Params["scope"])...)
		more = more || c.Params["error"] == "insufficient_scope"
	}
	return validScopes(scopes), more
}

// validScopes are scopes without those that are none (RFC 6749, 3.3), each once.
func validScopes(scopes []string) (list []string) {
	for _, s := range scopes {
		odd := strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
		if s != "" && len(s) <= 200 && !odd && !slices.Contains(list, s) && len(list) < maxScopes {
			list = append(list, s)
		}
	}
	return list
}
