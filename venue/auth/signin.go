package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"usher/runtime/endpoint"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/config"
)

// SessionLife is how long a person is signed in at most.
const SessionLife = 12 * time.Hour

// A person who has signed in has a session, at ses/<exp, 12 digits>/<digest of the secret>, so that
// those that are over lie together. The secret is "<exp>.<random>" and stands in the person's cookie
// alone; the token against forged requests is made from it.
const sessionPrefix = "ses/"

// session is one as it is stored.
type session struct {
	Owner  string `json:"owner"`
	Kind   proof  `json:"kind"`
	Since  int64  `json:"since"`           // s, when the person signed in
	Token  string `json:"token,omitempty"` // row of the token that was pasted: the session ends with it
	Number string `json:"number,omitempty"`
}

// PersonSession is what is known of a person's session.
type PersonSession struct {
	*Identity
	Since   time.Time // when they signed in
	Forgery string    // what a request has to bring that changes something
}

var (
	errSignedOut   = fault.New(fault.Unauthenticated, "you are not signed in, or not any more: sign in at /login")
	errPasted      = fault.New(fault.Refused, "this is no token of the venue for a person: paste one that usher token create has made")
	errNoProvider  = fault.New(fault.NotFound, "this venue knows no such provider: they stand under auth.providers in its configuration")
	errOtherAnswer = fault.New(fault.Refused, "the provider answered another question than this browser asked: begin again at /login")
)

// Providers are the servers of OpenID Connect by which people sign in.
func (r *Room) Providers() []config.Provider { return r.Auth.Providers }

// SignIn begins a session of whoever bears a token of the venue. It ends with the token.
func (r *Room) SignIn(ctx context.Context, token string) (secret string, err error) {
	id, err := r.Bearer(ctx, token)
	if err != nil {
		return "", err
	}
	if id.Kind != venueToken || !id.Authority.IsUnbounded() {
		return "", errPasted
	}
	return r.begin(ctx, id, session{Token: id.row, Number: id.number})
}

// begin stores a session of an identity, and drops some that are over.
func (r *Room) begin(ctx context.Context, id *Identity, s session) (secret string, err error) {
	random, err := r.secret()
	if err != nil {
		return "", err
	}
	now := r.Now()
	s.Owner, s.Kind, s.Since = id.Authority.Owner().String(), id.Kind, now.Unix()
	if !id.SignedIn.IsZero() {
		s.Since = id.SignedIn.Unix()
	}
	end := now.Add(SessionLife)
	if id.Kind == venueToken && id.Expires.Before(end) {
		end = id.Expires
	}
	secret = fmt.Sprintf("%012d.%s", end.Unix(), random)
	raw, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	over, err := r.over(ctx, sessionPrefix)
	if err == nil {
		_, err = r.Store.Apply(ctx, nil, map[string][]byte{sessionKey(secret): raw}, over)
	}
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return secret, nil
}

// secret returns what nobody guesses, whatever else of the venue they have seen.
func (r *Room) secret() (string, error) {
	raw := make([]byte, 32)
	if _, err := io.ReadFull(r.Rand, raw); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return b64.EncodeToString(raw), nil
}

func sessionKey(secret string) string {
	end, _, _ := strings.Cut(secret, ".")
	sum := sha256.Sum256([]byte(secret))
	return sessionPrefix + end + "/" + b64.EncodeToString(sum[:])
}

// maxSecret bounds what is looked up.
const maxSecret = 128

// BySession returns who has the session of the secret.
func (r *Room) BySession(ctx context.Context, secret string) (*PersonSession, error) {
	end, _, _ := strings.Cut(secret, ".")
	expires, err := strconv.ParseInt(end, 10, 64)
	if err != nil || len(end) != 12 || len(secret) > maxSecret {
		return nil, errSignedOut
	}
	key := sessionKey(secret)
	s, err := r.session(ctx, key, expires)
	if err != nil {
		return nil, err
	}
	owner, err := ucan.ParseDID(s.Owner)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	valid := func(ctx context.Context) error {
		_, err := r.session(ctx, key, expires)
		return err
	}
	sum := sha256.Sum256([]byte("forgery\x00" + secret))
	out := &PersonSession{Since: time.Unix(s.Since, 0), Forgery: b64.EncodeToString(sum[:])}
	out.Identity, err = r.admit(&Identity{Authority: r.principal(owner), Kind: s.Kind, Expires: time.Unix(expires, 0), Valid: valid, row: key, number: "-"})
	if err != nil {
		return nil, err
	}
	if s.Token == "" {
		out.SignedIn = out.Since
	}
	return out, nil
}

// session is one that has not ended, nor the token that it was begun with.
func (r *Room) session(ctx context.Context, key string, expires int64) (s session, err error) {
	raw, _, err := r.Store.Get(ctx, key)
	if err != nil {
		return s, fmt.Errorf("look for a session: %w", err)
	}
	if raw == nil || r.Now().Unix() > expires {
		return s, errSignedOut
	}
	if err = json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("read session: %w", err)
	}
	if s.Token == "" {
		return s, nil
	}
	if err = r.stands(ctx, s.Token, s.Number); fault.Of(err) == fault.Unauthenticated {
		err = errSignedOut
	}
	return s, err
}

// MayChange reports whether a request brought what only the venue's own pages know.
func (s *PersonSession) MayChange(brought string) bool {
	return subtle.ConstantTimeCompare([]byte(brought), []byte(s.Forgery)) == 1
}

// SignOut ends the session of a secret.
func (r *Room) SignOut(ctx context.Context, secret string) error {
	if len(secret) > maxSecret {
		return nil
	}
	_, err := r.Store.Apply(ctx, nil, nil, []string{sessionKey(secret)})
	return err
}

// Question is what a browser asks a provider, and holds its answer against.
type Question struct {
	Provider string `json:"provider"`
	Redirect string `json:"redirect"` // to which the provider sends the answer
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // of PKCE (RFC 7636)
	To       string `json:"to"`       // path to go to when all is done
}

// Ask makes a question, and the address at which to ask it.
func (r *Room) Ask(ctx context.Context, provider, redirect, to string) (q Question, address string, err error) {
	o, err := r.client(ctx, provider, redirect)
	if err != nil {
		return q, "", err
	}
	q = Question{Provider: provider, Redirect: redirect, Verifier: oauth2.GenerateVerifier(), To: to}
	if q.State, err = r.secret(); err == nil {
		q.Nonce, err = r.secret()
	}
	return q, o.AuthCodeURL(q.State, oidc.Nonce(q.Nonce), oauth2.S256ChallengeOption(q.Verifier)), err
}

// Answer begins a session of whom the provider's code tells of.
func (r *Room) Answer(ctx context.Context, q Question, state, code string) (secret string, err error) {
	if q.State == "" || subtle.ConstantTimeCompare([]byte(state), []byte(q.State)) != 1 {
		return "", errOtherAnswer
	}
	o, err := r.client(ctx, q.Provider, q.Redirect)
	if err != nil {
		return "", err
	}
	p := r.provider(q.Provider)
	tokens, err := o.Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(q.Verifier))
	if err != nil {
		return "", &Refusal{"provider " + p.Name + " gives nothing for its code", p.brief(ctx, err)}
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, nonce, err := r.openID(ctx, p, raw)
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare([]byte(nonce), []byte(q.Nonce)) != 1 {
		return "", errOtherAnswer
	}
	return r.begin(ctx, id, session{})
}

var errNoTokens = errors.New("it is not reached, or answers nothing that is read")

// brief is what an error of a token endpoint tells, without what the endpoint sent and how it was
// reached.
func (p *provider) brief(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("it answers %d %s", e.Response.StatusCode, e.ErrorCode)
	}
	p.log.WarnContext(ctx, "a provider of OpenID Connect gives no tokens", "provider", p.Name, "error", err)
	return errNoTokens
}

var errNoSecret = fault.New(fault.Unavailable, "nobody can sign in there now, as the venue has not what proves to the provider who it is")

func (r *Room) provider(name string) *provider {
	for _, p := range r.providers {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// client is this venue as a client of a provider.
func (r *Room) client(ctx context.Context, name, redirect string) (*oauth2.Config, error) {
	p := r.provider(name)
	if p == nil {
		return nil, errNoProvider
	}
	if _, err := p.ready(ctx); err != nil {
		return nil, err
	}
	secret := ""
	if p.ClientSecret != "" {
		var err error
		if secret, err = endpoint.Resolve(ctx, string(p.ClientSecret), r.Secret); err != nil {
			r.Logger.ErrorContext(ctx, "the client_secret of a provider is not to be had", "provider", name, "error", err)
			return nil, errNoSecret
		}
	}
	scopes := []string{oidc.ScopeOpenID}
	if p.Claim == "email" {
		scopes = append(scopes, "email")
	} else if p.Claim != "" && p.Claim != "sub" {
		scopes = append(scopes, "profile")
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: secret, Endpoint: p.endpoint, RedirectURL: redirect, Scopes: scopes}, nil
}
