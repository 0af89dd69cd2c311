// Package tokens has the operations by which a person makes, lists and revokes tokens
// of the venue: token:create, list and revoke. Who bears one is that person at the
// venue's port. [Operations] returns them over a [Service], which the venue has.
//
// A token is a resource of its own, tokens/<name>. Making one needs token/create on it,
// revoking token/revoke, listing token/read on tokens; and a person: no agent makes or
// revokes any, whatever its capabilities are.
package tokens

import (
	"context"
	"fmt"
	"time"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
)

// Token is what may be told of a token. Times are milliseconds since 1970.
type Token struct {
	Name    string `json:"name"`
	Created int64  `json:"created"`
	Expires int64  `json:"expires"`
	Used    int64  `json:"used,omitempty"` // last, as it was noted once an hour
}

// CreateResult is a token with its text, which nobody is told again.
type CreateResult struct {
	Token
	Secret string `json:"token"`
}

// Service keeps the tokens of a venue. Every method acts on those of the caller.
type Service interface {
	Create(ctx context.Context, call tools.Call, in New) (CreateResult, error)
	List(ctx context.Context, call tools.Call, in Query) (Listing, error)
	Revoke(ctx context.Context, call tools.Call, in Ref) (RevokeResult, error)
}

// New asks for a token.
type New struct {
	Name string `json:"name" jsonschema:"what to call it, for example laptop: letters, digits, _ . and -"`
	For  string `json:"for,omitempty" jsonschema:"how long it holds, for example 720h; left out, 24h"`
}

// Life of a token.
const (
	defaultLife = 24 * time.Hour
	maxLife     = 366 * 24 * time.Hour
)

// Life is how long the token holds.
func (n New) Life() (time.Duration, error) {
	if n.For == "" {
		return defaultLife, nil
	}
	d, err := time.ParseDuration(n.For)
	if err != nil || d < time.Second || d > maxLife {
		return 0, fault.New(fault.InvalidInput, fmt.Sprintf("for is %q: give a duration from 1s to %s, for example 720h", n.For, maxLife))
	}
	return d, nil
}

// Query asks for all tokens.
type Query struct{}

// Listing has all tokens of a principal, by name.
type Listing struct {
	Tokens []Token `json:"tokens"`
}

// Ref names a token.
type Ref struct {
	Name string `json:"name" jsonschema:"the token's name, as token:list has it"`
}

// RevokeResult says whether there was a token to revoke.
type RevokeResult struct {
	Name    string `json:"name"`
	Revoked bool   `json:"revoked"`
}

var names = value.Form("^" + tools.SecretName + "$")

// Operations returns the operations.
func Operations(s Service) []*tools.Operation {
	return []*tools.Operation{
		tools.New("token:create", "Make a token by which its bearer is you at the venue's port. Only a person can.",
			func(in New) []caps.Request {
				if _, err := in.Life(); err != nil {
					return []caps.Request{caps.Invalid(err)}
				}
				return on("token/create", in.Name)
			}, s.Create, within("token/create"), tools.Exclusive(), tools.WithSeal()),
		tools.New("token:list", "List your tokens: their names and times.",
			func(Query) []caps.Request { return []caps.Request{caps.Need("token/read", "tokens")} },
			s.List, tools.Within(caps.ScopeExactly("token/read", "tokens")), tools.ReadOnly()),
		tools.New("token:revoke", "Revoke a token: it proves nothing from then on. Only a person can.",
			func(in Ref) []caps.Request { return on("token/revoke", in.Name) },
			s.Revoke, within("token/revoke"), tools.Exclusive(), tools.Idempotent()),
	}
}

func within(can string) tools.Option { return tools.Within(caps.ScopeUnder(can, "tokens", 1, 1)) }

func on(can, name string) []caps.Request {
	if !names().MatchString(name) {
		return []caps.Request{caps.Invalid(fmt.Errorf("name is %q: give 1 to 64 letters, digits, _ . and -, the first no . or -", name))}
	}
	return []caps.Request{caps.Need(can, "tokens/"+name)}
}
