package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"usher/caps"
	"usher/caps/value"
	"usher/runtime/endpoint"
	"usher/tools/form"
	"usher/ucan"
)

// Auth says how callers from outside prove who they are. The zero value takes what is
// signed by a key that is an identity itself, and tokens of the venue.
type Auth struct {
	_         struct{}       `noun:"the auth section" example:"{'anonymous': {'caps': [{'with': 'w/public', 'can': 'crud/read'}]}}"`
	Anonymous *AnonymousCaps `json:"anonymous,omitzero" jsonschema:"Who may call without a token, as the user anonymous. Default: nobody."`
	MaxLife   time.Duration  `json:"max_life,omitempty" example:"24h" jsonschema:"Longest life of a token that a caller signs. Default: 24h."`
	Known     []string       `json:"known,omitempty" example:"['did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK']" jsonschema:"Keys from elsewhere whose holders are users as the venue's own are. Who has another key is a guest."`
	Guests    Guests         `json:"guests,omitzero" jsonschema:"Callers with a key that is neither the venue's nor known."`
	Requests  int            `json:"requests,omitempty" example:"100" jsonschema:"Most requests a second of one user or agent at the port. Default: 0, as many as they like."`
	Providers []Provider     `json:"providers,omitempty" example:"[{'name': 'acme', 'issuer': 'https://login.acme.example', 'client_id': 'usher'}]" jsonschema:"Servers of OpenID Connect whose users are users of this venue."`
}

// Check says what is wrong, also that a user of one provider is one of another.
func (a *Auth) Check() error {
	for i, did := range a.Known {
		if _, err := ucan.ParseDID(did); err != nil {
			return form.In("known", fmt.Errorf("number %d: %w", i+1, err))
		}
	}
	for i, p := range a.Providers {
		if slices.ContainsFunc(a.Providers[:i], func(q Provider) bool { return q.Name == p.Name || q.Issuer == p.Issuer }) {
			return form.In("providers", fmt.Errorf("provider %q has the name or the issuer of one before it: give each its own, as their users are told apart by them", p.Name))
		}
	}
	return nil
}

// Guests bounds callers whom nobody here knows: anybody can make a key.
type Guests struct {
	_        struct{} `noun:"guests" example:"{'agents': false, 'requests': 100}"`
	Refused  bool     `json:"refused,omitempty" jsonschema:"Let none in. Default: a guest has a namespace, and what is delegated to the guest's key."`
	Agents   bool     `json:"agents,omitempty" jsonschema:"Let them have agents, which ask the venue's models. Default: false."`
	Requests int      `json:"requests,omitempty" example:"100" jsonschema:"Most requests a second of all guests and anonymous callers together. Default: 100."`
}

// AnonymousCaps bounds callers without a token.
type AnonymousCaps struct {
	_    struct{}         `noun:"anonymous" required:"caps" example:"{'caps': [{'with': 'w/public', 'can': 'crud/read'}]}"`
	Caps caps.Declaration `json:"caps" example:"[{'with': 'w/public', 'can': 'crud/read'}]" jsonschema:"What they may do in the namespace of the user anonymous, and with what is delegated to that user."`
}

// Check says that strangers are never unrestricted.
func (a *AnonymousCaps) Check() error {
	if _, bounded := a.Caps.Set(); !bounded {
		return form.In("caps", errors.New("whoever calls without a token would be unrestricted: list what they may do, or leave anonymous out"))
	}
	return nil
}

// Provider is a server of OpenID Connect. Its users are <name>:<claim> here.
type Provider struct {
	_            struct{}        `noun:"a provider" required:"name,issuer,client_id" example:"{'name': 'acme', 'issuer': 'https://login.acme.example', 'client_id': 'usher'}"`
	Name         string          `json:"name" example:"acme" jsonschema:"What it is called here: its users are NAME:CLAIM."`
	Issuer       string          `json:"issuer" example:"https://login.acme.example" jsonschema:"Its URL, as its tokens have it in iss."`
	ClientID     string          `json:"client_id" example:"usher" jsonschema:"Which client of it this venue is, as its tokens have it in aud."`
	ClientSecret endpoint.Secret `json:"client_secret,omitempty" example:"env:ACME_SECRET" jsonschema:"Where its secret is, for signing in at /login: env:NAME, file:PATH or secret:NAME. Left out, the client is public, and PKCE alone guards it."`
	Claim        string          `json:"claim,omitempty" example:"email" jsonschema:"Which claim says who somebody is. Of email, only a verified one counts. Default: sub."`
}

var providerName = value.Form(`^[a-z0-9][a-z0-9-]{0,31}$`)

// Check says what is wrong with a provider.
func (p *Provider) Check() error {
	if !providerName().MatchString(p.Name) {
		return form.In("name", fmt.Errorf("%q names no provider: give 1 to 32 of a-z, 0-9 and -", p.Name))
	}
	at, err := url.Parse(p.Issuer)
	if err != nil || at.Host == "" || at.Scheme != "https" && (at.Scheme != "http" || !isLoopback(at.Hostname())) {
		return form.In("issuer", fmt.Errorf("%q is no issuer: give its URL, with https", p.Issuer))
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
