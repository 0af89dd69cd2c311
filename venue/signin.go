package venue

import (
	"context"

	"usher/venue/auth"
	"usher/venue/config"
)

// Providers are the servers of OpenID Connect by which people sign in.
func (v *Venue) Providers() []config.Provider { return v.auth.Providers() }

// SignIn begins a session of the person whose token of the venue it is: what [Venue.BySession] takes.
func (v *Venue) SignIn(ctx context.Context, token string) (secret string, err error) {
	return v.auth.SignIn(ctx, token)
}

// Ask makes the question by which a provider is asked who a person is, for [Venue.Answer], and the
// address at which to ask it. The provider sends the answer to redirect.
func (v *Venue) Ask(ctx context.Context, provider, redirect, to string) (q auth.Question, address string, err error) {
	return v.auth.Ask(ctx, provider, redirect, to)
}

// Answer begins a session of whom a provider's answer tells of.
func (v *Venue) Answer(ctx context.Context, q auth.Question, state, code string) (secret string, err error) {
	return v.auth.Answer(ctx, q, state, code)
}

// BySession returns the person who has the session of the secret, and what is known of it.
func (v *Venue) BySession(ctx context.Context, secret string) (*Principal, *auth.PersonSession, error) {
	in, err := v.auth.BySession(ctx, secret)
	if err == nil {
		err = v.auth.Take(in.Identity)
	}
	if err != nil {
		return nil, nil, err
	}
	p := v.principal(in.WithProof(v.now()), in.Valid)
	p.guest, p.take = in.Guest, func() error { return v.auth.Take(in.Identity) }
	return p, in, nil
}

// SignOut ends the session of a secret.
func (v *Venue) SignOut(ctx context.Context, secret string) error { return v.auth.SignOut(ctx, secret) }
