package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
)

// LoginTime is how long a person may take to sign in to a server.
const LoginTime = 10 * time.Minute

// LoginQuery asks for the address where a person signs in to a server.
type LoginQuery struct {
	Server   string `json:"server" jsonschema:"id of the server in the configuration"`
	Redirect string `json:"redirect" jsonschema:"address on this machine to which the browser comes back, for example http://127.0.0.1:4711/callback"`
}

// Login is a sign-in that has begun.
type Login struct {
	Server  string `json:"server"`
	ID      string `json:"login" jsonschema:"names this sign-in for mcp:loginEnd"`
	Address string `json:"address" jsonschema:"where a person signs in, with a browser: it is the server's choice"`
}

// LoginAnswer is what the browser brought back.
type LoginAnswer struct {
	Server string `json:"server" jsonschema:"id of the server in the configuration"`
	ID     string `json:"login" jsonschema:"as mcp:login said"`
	Code   string `json:"code,omitempty"`
	State  string `json:"state,omitempty"`
	Issuer string `json:"iss,omitempty"`
	Error  string `json:"error,omitempty" jsonschema:"why there is no code"`
}

// LoginResult says that somebody has signed in.
type LoginResult struct {
	Server string   `json:"server"`
	Scopes []string `json:"scopes,omitempty" jsonschema:"that were asked for"`
}

// Logout names a server to sign out of.
type Logout struct {
	Server string `json:"server" jsonschema:"id of the server in the configuration"`
}

// login is a sign-in under way.
type login struct {
	id      string
	address chan string // once
	answer  chan LoginAnswer
	cancel  context.CancelCauseFunc
	over    chan struct{}
	grant   *grant
	err     error
}

var (
	errOnlyPerson = fault.New(fault.Refused, "only a person signs in: what is granted is theirs")
	errReplaced   = fault.New(fault.Refused, "somebody began to sign in anew")
	errNoLogin    = fault.New(fault.NotFound, "nobody is signing in to that server, or it took longer than ten minutes: begin again")
	errNoNeed     = fault.New(fault.Refused, "the server asks nobody to sign in")
)

// signsIn finds the server that a person signs in to.
func (s *Servers) signsIn(call tools.Call, id string) (*entry, error) {
	if !call.Authority().IsUnbounded() {
		return nil, errOnlyPerson
	}
	e, err := s.find(call, id)
	if err == nil && e.link.bearer == nil {
		err = fault.New(fault.Refused, "MCP server "+id+" is a command, or has a header Authorization: nobody signs in to it")
	}
	return e, err
}

// login begins a sign-in, in place of one under way.
func (s *Servers) login(ctx context.Context, call tools.Call, in LoginQuery) (Login, error) {
	e, err := s.signsIn(call, in.Server)
	if err != nil {
		return Login{}, err
	}
	if u, err := url.Parse(in.Redirect); err != nil || u.Scheme != "http" || !isHere(in.Redirect) || u.Port() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Login{}, fault.New(fault.InvalidInput, "redirect is no address on this machine: give one like http://127.0.0.1:4711/callback")
	}
	at := &login{id: rand.Text(), address: make(chan string, 1), answer: make(chan LoginAnswer, 1), over: make(chan struct{})}
	if err := e.link.begin(at, in.Redirect); err != nil {
		return Login{}, err
	}
	select {
	case address := <-at.address:
		return Login{in.Server, at.id, address}, nil
	case <-at.over:
		return Login{}, cmp.Or(at.err, errNoNeed)
	case <-ctx.Done():
		at.cancel(context.Cause(ctx))
		return Login{}, context.Cause(ctx)
	}
}

// begin begins a sign-in, which ends with the link at the latest.
func (l *link) begin(at *login, redirect string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	if l.login != nil {
		l.login.cancel(errReplaced)
	}
	l.login = at
	ctx, cancel := context.WithTimeoutCause(l.context, LoginTime, errNoLogin)
	ctx, at.cancel = context.WithCancelCause(ctx)
	l.work.Go(func() {
		defer cancel()
		defer at.cancel(nil)
		at.grant, at.err = l.signIn(ctx, at, redirect)
		if at.err != nil && ctx.Err() != nil {
			at.err = context.Cause(ctx)
		}
		l.mu.Lock()
		if l.login == at {
			l.login = nil
		}
		if at.err == nil {
			l.again, l.wait = time.Time{}, 0 // the next call need not wait
		}
		l.mu.Unlock()
		close(at.over)
	})
	return nil
}

// signIn reaches the server as nobody, and does what it then asks for.
func (l *link) signIn(ctx context.Context, at *login, redirect string) (*grant, error) {
	texts, hide, err := l.secrets(ctx)
	if err != nil {
		return nil, err
	}
	var made atomic.Pointer[grant]
	conf, err := l.handler(ctx, at, redirect, &made)
	if err != nil {
		return nil, err
	}
	inner, err := auth.NewAuthorizationCodeHandler(conf)
	if err != nil {
		return nil, err
	}
	handler := &once{OAuthHandler: inner, server: l.server.ID}
	t, end, err := l.server.remote(texts, handler)
	if err != nil {
		return nil, err
	}
	defer end()
	client := sdk.NewClient(&sdk.Implementation{Name: "usher", Version: l.opts.Version}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	session, err := client.Connect(ctx, t, nil)
	if err == nil {
		if made.Load() == nil { // some ask only who lists the tools
			_, err = session.ListTools(ctx, nil)
		}
		_ = session.Close()
	}
	if g := made.Load(); g != nil { // whatever came after it
		return g, l.bearer.keep(ctx, g)
	}
	if failed := handler.failed.Load(); failed != nil { // the SDK tries another version then, and tells of that
		err = *failed
	}
	if err != nil {
		return nil, fmt.Errorf("sign in to MCP server %s: %w", l.server.ID, l.safeError(hide, err))
	}
	return nil, errNoNeed
}

// once asks a person one time: what comes after that is for the next sign-in.
type once struct {
	auth.OAuthHandler
	server string
	asked  atomic.Bool
	failed atomic.Pointer[error] // by which that came to nothing
}

// Authorize asks, or says that it has.
func (o *once) Authorize(ctx context.Context, req *http.Request, res *http.Response) error {
	if o.asked.Swap(true) {
		_ = res.Body.Close()
		return &signInError{o.server}
	}
	err := o.OAuthHandler.Authorize(ctx, req, res)
	if err != nil {
		o.failed.Store(&err)
	}
	return err
}

// handler says how the SDK signs in: by a client that the configuration names, or one
// that registers itself (RFC 7591).
func (l *link) handler(ctx context.Context, at *login, redirect string, made *atomic.Pointer[grant]) (*auth.AuthorizationCodeHandlerConfig, error) {
	o, b := &l.server.OAuth, l.bearer
	before, err := b.currentGrant(ctx)
	if err != nil {
		return nil, err
	}
	var resource string
	var scopes []string
	conf := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, Client: b.client, RequestRefreshToken: true,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Usher", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		ScopeFilter: func(named []string) []string {
			all := slices.Concat(named, o.Scopes)
			if wanted := b.wanted.Load(); wanted != nil {
				all = append(all, *wanted...)
				if before != nil { // what was granted stays so
					all = append(all, before.Scopes...)
				}
			}
			return validScopes(all)
		},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			u, err := url.Parse(args.URL)
			if err != nil || !l.server.mayShow(u) {
				return nil, errAddress
			}
			resource, scopes = u.Query().Get("resource"), strings.Fields(u.Query().Get("scope"))
			at.address <- args.URL
			select {
			case a := <-at.answer:
				if a.Error != "" {
					return nil, fmt.Errorf("nobody was signed in: %s", value.Quote(value.Cut(a.Error, 200)))
				}
				return &auth.AuthorizationResult{Code: a.Code, State: a.State, Iss: a.Issuer}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			g := &grant{
				URL: l.server.URL, Resource: resource, TokenURL: c.Endpoint.TokenURL, ClientID: c.ClientID, ClientSecret: c.ClientSecret, Style: c.Endpoint.AuthStyle,
				Scopes: validScopes(scopes),
			}
			made.Store(g.with(t))
			return oauth2.StaticTokenSource(t), nil
		},
	}
	switch {
	case strings.HasPrefix(o.ClientID, "https://"):
		conf.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.ClientID}
	case o.ClientID != "":
		known := &oauthex.ClientCredentials{ClientID: o.ClientID, Issuer: o.Issuer}
		if name, isHandle := strings.CutPrefix(o.ClientSecret, "secret:"); isHandle && l.opts.Secret != nil {
			text, err := l.opts.Secret(ctx, name)
			if err != nil {
				return nil, fmt.Errorf("open secret:%s: %w", name, err)
			}
			known.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: text}
		}
		conf.PreregisteredClient, conf.DynamicClientRegistrationConfig = known, nil
	}
	return conf, nil
}

var errAddress = errors.New("the server names no https address to sign in at, or one in this machine: say allow_private under oauth where that is meant")

// mayShow reports whether an address that a server has named is one that a person is to open in a
// browser: of the web, and in this machine only where the server is, or may name such.
func (s *Server) mayShow(u *url.URL) bool {
	if isHere(u.String()) {
		return (u.Scheme == "https" || u.Scheme == "http") && (s.OAuth.AllowPrivate || isHere(s.URL))
	}
	return u.Scheme == "https"
}

// loginEnd ends a sign-in with what the browser brought back.
func (s *Servers) loginEnd(ctx context.Context, call tools.Call, in LoginAnswer) (LoginResult, error) {
	e, err := s.signsIn(call, in.Server)
	if err != nil {
		return LoginResult{}, err
	}
	e.link.mu.Lock()
	at := e.link.login
	e.link.mu.Unlock()
	if at == nil || subtle.ConstantTimeCompare([]byte(at.id), []byte(in.ID)) != 1 {
		return LoginResult{}, errNoLogin
	}
	select {
	case at.answer <- in:
	default:
		return LoginResult{}, fault.New(fault.Refused, "this sign-in was answered already")
	}
	select {
	case <-at.over:
		if at.err != nil {
			return LoginResult{}, at.err
		}
		return LoginResult{in.Server, at.grant.Scopes}, nil
	case <-ctx.Done():
		return LoginResult{}, context.Cause(ctx)
	}
}

// logout forgets what signing in has left.
func (s *Servers) logout(ctx context.Context, call tools.Call, in Logout) (Logout, error) {
	e, err := s.signsIn(call, in.Server)
	if err != nil {
		return Logout{}, err
	}
	e.link.mu.Lock()
	if at := e.link.login; at != nil {
		at.cancel(errReplaced)
	}
	e.link.mu.Unlock()
	return in, e.link.bearer.keep(ctx, nil)
}
