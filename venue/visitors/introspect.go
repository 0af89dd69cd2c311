package visitors

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"
)

var errService = refuse(Unauthorized, "introspection is for the services of the configuration: send the secret of one as bearer token")

// Service reports why a secret is none of a service that may introspect. Every service is
// looked at, whichever it is.
func (r *Room) Service(ctx context.Context, secret string) error {
	s := r.set.Load()
	sent, known := sha256.Sum256([]byte(secret)), 0
	for i := range s.Services {
		has, err := r.Secret(ctx, s.owner, strings.TrimPrefix(s.Services[i].Secret, "secret:"))
		if err != nil || len(has) < 16 {
			r.Logger.WarnContext(ctx, "a service cannot prove itself: its secret is not there, or has less than 16 bytes", "service", s.Services[i].Name)
			continue
		}
		want := sha256.Sum256([]byte(has))
		known |= subtle.ConstantTimeCompare(sent[:], want[:])
	}
	if known != 1 {
		return errService
	}
	return nil
}

// Introspect is the agent of a JWT that holds now, made out to this venue or to the location
// of the one capability that it names, with the grants that the JWT lets be used. It uses up nothing.
func (r *Room) Introspect(ctx context.Context, req *Request) (*Agent, *Host, error) {
	if t, err := readToken(req.Token); err == nil && t.Capabilities != nil && len(*t.Capabilities) == 1 {
		if c := r.set.Load().grant[(*t.Capabilities)[0]]; c != nil && c.Location != "" {
			req.Audiences = append(req.Audiences, c.Location)
		}
	}
	by, err := r.readJWT(ctx, &Request{Token: req.Token, Audiences: req.Audiences, Method: "-", URL: "-"})
	if err != nil {
		return nil, nil, err
	}
	if by.Agent == nil {
		return nil, nil, errUnverified
	}
	by.Agent.Grants = slices.DeleteFunc(by.Agent.Grants, func(g Grant) bool { return !by.claims(g.Capability) })
	return by.Agent, by.Host, r.active(by.Agent, by.Host)
}

// ConstraintsOf are the constraints of a grant with those of the configuration.
func (r *Room) ConstraintsOf(g *Grant) (Constraints, error) {
	if c := r.set.Load().grant[g.Capability]; c != nil {
		return g.Constraints.and(c.imposed)
	}
	return g.Constraints, nil
}
