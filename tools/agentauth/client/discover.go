// Package client speaks Agent-Auth to a server, by what the server says of itself and the
// wire alone. [Discover] finds a [Server], [Server.Host] is the program as it is known
// there, and [Host.Register] makes an agent that [Host.Agent] then acts as. Whatever a
// server refuses is a [*Refusal] with its code.
//
// A server is somebody else's: what it sends is bounded, redirects are not followed, and
// its endpoints must lie where it lies itself, so that no token goes elsewhere. The one
// exception is the location of a capability, which the caller chooses to follow.
package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options says what a client works with.
type Options struct {
	HTTP *http.Client     // nil makes one; its redirects are not followed
	Now  func() time.Time // nil is time.Now
	Rand io.Reader        // ids of tokens; nil is crypto/rand
}

// Document is what a server says of itself.
type Document struct {
	Version         string            `json:"version"`
	ProviderName    string            `json:"provider_name"`
	Description     string            `json:"description,omitempty"`
	Issuer          string            `json:"issuer"`
	DefaultLocation string            `json:"default_location,omitempty"`
	Algorithms      []string          `json:"algorithms,omitempty"`
	Modes           []string          `json:"modes,omitempty"`
	ApprovalMethods []string          `json:"approval_methods,omitempty"`
	Endpoints       map[string]string `json:"endpoints"`
}

// Server is a server that was found. It is safe for concurrent use.
type Server struct {
	Document
	opts Options
}

// fixed are the paths of endpoints that a document need not have.
var fixed = map[string]string{
	"register": "/agent/register", "request_capability": "/agent/request-capability", "status": "/agent/status",
	"reactivate": "/agent/reactivate", "revoke": "/agent/revoke", "revoke_capability": "/agent/revoke-capability",
	"rotate_key": "/agent/rotate-key", "claim": "/agent/claim", "introspect": "/agent/introspect", "device_code": "/agent/device/code",
	"rotate_host_key": "/host/rotate-key", "revoke_host": "/host/revoke",
	"capabilities": "/capability/list", "describe_capability": "/capability/describe",
	"execute": "/capability/execute", "batch_execute": "/capability/batch-execute",
}

var errElsewhere = errors.New("it does not lie where the server lies")

// Discover asks a server what it is. at is its origin, such as https://auth.example.com.
func Discover(ctx context.Context, at string, o *Options) (*Server, error) {
	s := &Server{}
	if o != nil {
		s.opts = *o
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	if s.opts.Rand == nil {
		s.opts.Rand = rand.Reader
	}
	var hc http.Client
	if s.opts.HTTP != nil {
		hc = *s.opts.HTTP
	}
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.opts.HTTP = &hc
	if err := s.exchange(ctx, http.MethodGet, strings.TrimSuffix(at, "/")+"/.well-known/agent-configuration", "", nil, &s.Document); err != nil {
		return nil, fmt.Errorf("discover %s: %w", at, err)
	}
	if err := s.check(at); err != nil {
		return nil, fmt.Errorf("discover %s: %w", at, err)
	}
	return s, nil
}

// check says what is wrong with the document of the server at an URL.
func (s *Server) check(at string) error {
	if s.Version == "" || s.Issuer == "" || s.Endpoints == nil {
		return errors.New("this is no configuration of an Agent-Auth server: it has no version, issuer or endpoints")
	}
	if !sameOrigin(at, s.Issuer) {
		return fmt.Errorf("its issuer is %.200q: %w", s.Issuer, errElsewhere)
	}
	for name := range s.Endpoints {
		if _, err := s.endpoint(name); err != nil {
			return err
		}
	}
	return nil
}

// endpoint is the URL of an endpoint: as the document has it, whole or below the issuer,
// or else its fixed path.
func (s *Server) endpoint(name string) (string, error) {
	at := s.Endpoints[name]
	if at == "" {
		at = fixed[name]
	}
	if strings.HasPrefix(at, "/") && !strings.HasPrefix(at, "//") {
		at = strings.TrimSuffix(s.Issuer, "/") + at
	}
	if !sameOrigin(s.Issuer, at) {
		return "", fmt.Errorf("endpoint %.100s is %.200q: %w", name, at, errElsewhere)
	}
	return at, nil
}

// Location is where capabilities are executed that have no location of their own.
func (s *Server) Location() (string, error) {
	if s.DefaultLocation == "" {
		return s.endpoint("execute")
	}
	if !sameOrigin(s.Issuer, s.DefaultLocation) {
		return "", fmt.Errorf("default_location is %.200q: %w", s.DefaultLocation, errElsewhere)
	}
	return s.DefaultLocation, nil
}

// Has reports whether an URL lies where the server lies.
func (s *Server) Has(at string) bool { return sameOrigin(s.Issuer, at) }

// sameOrigin reports whether two URLs have the same scheme, host and port (RFC 6454).
func sameOrigin(a, b string) bool {
	x, err := url.Parse(a)
	if err != nil {
		return false
	}
	y, err := url.Parse(b)
	return err == nil && x.Host != "" && x.User == nil && y.User == nil &&
		(x.Scheme == "https" || x.Scheme == "http") && x.Scheme == y.Scheme &&
		strings.EqualFold(x.Hostname(), y.Hostname()) && port(x) == port(y)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Capabilities lists what anybody may see.
func (s *Server) Capabilities(ctx context.Context, q Query) (*Page, error) {
	return look[Page](ctx, s, nobody, "capabilities", q.values())
}

// Describe returns one capability that anybody may see, with its schemas.
func (s *Server) Describe(ctx context.Context, name string) (*Capability, error) {
	return look[Capability](ctx, s, nobody, "describe_capability", nameQuery(name))
}

// Introspect asks, as a service with a credential of its own, whose a token is.
func (s *Server) Introspect(ctx context.Context, credential, token string) (*Introspection, error) {
	return send[Introspection](ctx, s, func() (string, error) { return credential, nil }, "introspect", map[string]string{"token": token})
}
