package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds of a guard that are not for its user to set.
const (
	maxBody  = 4 << 20          // bytes of an execute
	maxAsked = 32               // introspections at once
	askTime  = 20 * time.Second // of one, the wait for its turn included
)

// Options are what a guard may be told beside what [New] takes.
type Options struct {
	Client     *http.Client // asks the venue; follows no redirect. Nil is one of its own.
	Introspect string       // URL of introspection; "" is /agent/introspect of the venue.
	Log        *slog.Logger // is told when the venue does not answer; nil is nobody.
}

// Guard lets agents through that a venue vouches for. Several requests may use it at once.
type Guard struct {
	venue, self, secret string
	opts                Options
	client              http.Client
	turns               chan struct{} // one is taken by each introspection
	seen                replayGuard
}

// Call is an execute that a person has granted.
type Call struct {
	Agent      string          // id of the agent
	Host       string          // id of its host
	User       string          // DID of the person on whose behalf it acts
	Mode       string          // delegated or autonomous
	Capability string          // the one to execute
	Arguments  json.RawMessage // an object, within the constraints; nil of a status
	Grant      Grant           // the one that the arguments fit; of a status any that is active
}

// Executor executes a call that was let through, and answers it: {"data": …} with 200.
type Executor func(w http.ResponseWriter, r *http.Request, call *Call)

// New returns a guard of the service at self, the location as the configuration of the venue
// has it. venue is the URL of that (its issuer), and secret the one that stands under
// agentauth.services there. Both URLs are https, but for this machine.
func New(venue, self, secret string, opts *Options) (*Guard, error) {
	g := &Guard{venue: strings.TrimSuffix(venue, "/"), self: self, secret: secret, turns: make(chan struct{}, maxAsked)}
	if opts != nil {
		g.opts = *opts
	}
	if g.opts.Introspect == "" {
		g.opts.Introspect = g.venue + "/agent/introspect"
	}
	if g.opts.Log == nil {
		g.opts.Log = slog.New(slog.DiscardHandler)
	}
	if g.opts.Client != nil {
		g.client = *g.opts.Client
	}
	// A redirect would take the JWT of the agent somewhere else.
	g.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for what, at := range map[string]string{"the venue": g.venue, "the service": self, "introspection": g.opts.Introspect} {
		if err := checkURL(at); err != nil {
			return nil, fmt.Errorf("read the URL of %s: %w", what, err)
		}
	}
	if secret == "" {
		return nil, errors.New("the secret of the service is missing")
	}
	return g, nil
}

func checkURL(at string) error {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return errors.New("it is no URL of a service")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())) {
		return errors.New("it is not https")
	}
	return nil
}

// Handler lets the executes through that hold, and answers all others itself, in the shape of
// the protocol: {"error", "message"}.
func (g *Guard) Handler(execute Executor) http.Handler { return g.before(g.admit, execute) }

// Status lets agents through that ask by GET what became of an execute which was answered with
// 202 and a status_url below the same origin. The JWT of an execute may ask as often as it holds,
// and any other once. The call has no arguments: whether the agent began what it asks for is for
// status to say.
func (g *Guard) Status(status Executor) http.Handler { return g.before(g.poll, status) }

func (g *Guard) before(admit func(http.ResponseWriter, *http.Request) (*Call, error), execute Executor) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call, err := admit(w, r)
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		execute(w, r, call)
	})
}

// admit decides an execute. The body is read once somebody is known who sent it.
func (g *Guard) admit(w http.ResponseWriter, r *http.Request) (*Call, error) {
	call, grants, err := g.vouch(r, http.MethodPost, true)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, &refusal{status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "the body was not read whole: it has too many bytes, or was cut"}
	}
	var in struct {
		Capability string          `json:"capability"`
		Arguments  json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &in); err != nil || in.Capability == "" {
		return nil, invalid("the body is no JSON object with capability and arguments")
	}
	if in.Capability != call.Capability {
		return nil, noGrant("the JWT is for %.64q alone", call.Capability)
	}
	if in.Arguments = bytes.TrimSpace(in.Arguments); len(in.Arguments) == 0 || string(in.Arguments) == "null" {
		in.Arguments = json.RawMessage("{}")
	}
	fits, err := fit(grants, in.Arguments)
	if err != nil {
		return nil, err
	}
	call.Arguments, call.Grant = in.Arguments, *fits
	return call, nil
}

// poll decides whether a status may be asked for.
func (g *Guard) poll(_ http.ResponseWriter, r *http.Request) (*Call, error) {
	call, grants, err := g.vouch(r, http.MethodGet, false)
	if err != nil {
		return nil, err
	}
	call.Grant = grants[0]
	return call, nil
}

// vouch returns who sends a request, as the venue says now, and the grants of the capability that
// its JWT names: one or more. The JWT is used up.
func (g *Guard) vouch(r *http.Request, method string, executes bool) (*Call, []Grant, error) {
	if r.Method != method {
		return nil, nil, &refusal{status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "this is for " + method, allow: method}
	}
	t, err := g.token(r)
	if err != nil {
		return nil, nil, err
	}
	said, err := g.introspect(r.Context(), t.text)
	if err != nil {
		return nil, nil, err
	}
	var grants []Grant
	for _, one := range said.Grants {
		if one.Capability == t.capability && one.Status == "active" && one.Location == g.self {
			grants = append(grants, one)
		}
	}
	if len(grants) == 0 {
		return nil, nil, noGrant("%.64q was not granted to the agent for this service", t.capability)
	}
	if err := g.seen.use(said.Agent, t.id, executes, time.Now()); err != nil {
		return nil, nil, err
	}
	return &Call{Agent: said.Agent, Host: said.Host, User: said.User, Mode: said.Mode, Capability: t.capability}, grants, nil
}

// refusal is an answer to who is not let through.
type refusal struct {
	status     int
	allow      string      // the method that is
	Code       string      `json:"error"`
	Message    string      `json:"message"`
	Violations []violation `json:"violations,omitempty"`
}

func (e *refusal) Error() string { return e.Message }

func noGrant(format string, args ...any) error {
	return &refusal{status: http.StatusForbidden, Code: "capability_not_granted", Message: fmt.Sprintf(format, args...)}
}

func invalid(message string) error {
	return &refusal{status: http.StatusBadRequest, Code: "invalid_request", Message: message}
}

func noProof(code, message string) error {
	return &refusal{status: http.StatusUnauthorized, Code: code, Message: message}
}

// refuse answers with an error. What is none of the caller's doing is for the log alone.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := errors.AsType[*refusal](err)
	if !ok {
		g.opts.Log.ErrorContext(r.Context(), "the venue does not say what a token is worth", "error", err)
		e = &refusal{status: http.StatusServiceUnavailable, Code: "unavailable", Message: "not available now: try again later"}
	}
	h := w.Header()
	switch e.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `AgentAuth discovery="`+g.venue+`/.well-known/agent-configuration"`)
	case http.StatusMethodNotAllowed:
		h.Set("Allow", e.allow)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(e.status)
	_ = json.NewEncoder(w).Encode(e) // a caller who is gone is told nothing
}
