package agentauth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"usher/tools"
	"usher/ucan"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/visitors"
)

// DiscoveryPath is where agents begin.
const DiscoveryPath = "/.well-known/agent-configuration"

// Prefixes are the paths below which the face is, beside [DiscoveryPath].
var Prefixes = []string{"/agent/", "/host/", "/capability/"}

// Bounds of bodies, in bytes: of executes of who is known, and of what strangers may send, too.
const (
	maxBody = 4 << 20
	maxAsk  = 64 << 10
)

// Face lets agents in.
type Face struct {
	door   *face.Door
	log    *slog.Logger
	room   *visitors.Room
	mux    *http.ServeMux
	origin *http.CrossOriginProtection
}

// New returns the face.
func New(door *face.Door, log *slog.Logger) *Face {
	f := &Face{door: door, log: log, room: door.Venue.Visitors(), mux: http.NewServeMux(), origin: http.NewCrossOriginProtection()}
	for _, route := range f.routes() {
		f.mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
			c := &call{face: f, w: w, r: r, name: route.name}
			if err := c.read(); err != nil {
				c.fail(err)
				return
			}
			if err := route.answer(c); err != nil {
				c.fail(err)
			}
		})
	}
	f.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		(&call{face: f, w: w, r: r}).fail(errNoRoute)
	})
	return f
}

var (
	errNoRoute = &visitors.Refusal{Code: visitors.NotFound, Message: "there is nothing here: GET " + DiscoveryPath + " has all endpoints"}
	errClosed  = &visitors.Refusal{Code: visitors.NotFound, Message: "this venue offers nothing by Agent-Auth: the section agentauth of its configuration would"}
)

// route is one endpoint.
type route struct {
	pattern, name string
	answer        func(*call) error
}

func (f *Face) routes() []route {
	return []route{
		{"GET " + DiscoveryPath, "discover", (*call).discover},
		{"GET /agent/agent-configuration", "discover", (*call).discover},
		{"POST /agent/register", "register", manages(anybody, register)},
		{"POST /agent/request-capability", "request-capability", manages(byAgent, ask)},
		{"GET /agent/status", "status", manages(byVisitor, status)},
		{"POST /agent/claim", "claim", manages(byVisitor, claim)},
		{"POST /agent/device/code", "device-code", manages(byVisitor, newCode)},
		{"POST /agent/reactivate", "reactivate", manages(byVisitor, reactivate)},
		{"POST /agent/revoke", "revoke", manages((*call).whoOrPerson, revoke)},
		{"POST /agent/revoke-capability", "revoke-capability", manages((*call).whoOrPerson, revokeGrants)},
		{"POST /agent/rotate-key", "rotate-key", manages(byVisitor, rotateAgent)},
		{"POST /agent/introspect", "introspect", (*call).introspect},
		{"POST /agent/approve-capability", "approve", (*call).approve},
		{"GET /agent/ciba/pending", "pending", (*call).listRequests},
		{"GET /agent/list", "agents", (*call).listAgents},
		{"GET /host/list", "hosts", (*call).listHosts},
		{"GET " + pagePath, "page", (*call).page},
		{"POST " + pagePath, "approve", (*call).answerPage},
		{"GET " + passkeysPath, "passkeys", (*call).passkeys},
		{"POST " + passkeysPath, "passkey", (*call).changePasskeys},
		{"POST /host/rotate-key", "rotate-host-key", manages(byVisitor, rotateHost)},
		{"POST /host/revoke", "revoke-host", manages((*call).whoOrPerson, revokeHost)},
		{"GET /capability/list", "list", (*call).list},
		{"GET /capability/describe", "describe", (*call).describe},
		{"POST /capability/execute", "execute", (*call).execute},
		{"POST /capability/batch-execute", "batch-execute", (*call).batch},
		{"GET /capability/status/{id}", "job", (*call).job},
	}
}

// ServeHTTP answers a request.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.room.IsOpen() {
		(&call{face: f, w: w, r: r}).fail(errClosed)
		return
	}
	f.mux.ServeHTTP(w, r)
}

// call is one request, and what is known of it.
type call struct {
	face   *Face
	w      http.ResponseWriter
	r      *http.Request
	name   string
	issuer string
	body   []byte

	by         *visitors.Caller // once the JWT was verified
	person     *venue.Principal // who has signed in
	capability string
	recorded   bool
}

func (c *call) ctx() context.Context { return c.r.Context() }

var errIssuer = &visitors.Refusal{Code: visitors.Unavailable, Message: "this venue does not know its own URL, and takes that of no request: write it in the configuration as agentauth.issuer, for example: agentauth: {issuer: \"https://venue.example.org\"}"}

// read takes what is sent in.
func (c *call) read() (err error) {
	if c.issuer = c.face.issuer(c.r); c.issuer == "" {
		return errIssuer
	}
	if c.r.Method == http.MethodPost {
		most := int64(maxAsk)
		if strings.HasPrefix(c.r.URL.Path, "/capability/") && (c.r.ContentLength < 0 || c.r.ContentLength > maxAsk) {
			if err := c.face.room.CheckSignature(c.ctx(), c.request()); err != nil {
				c.w.Header().Set("Connection", "close") // and read none of it
				return err
			}
			most = maxBody
		}
		c.body, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, most))
		if over, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return &visitors.Refusal{Code: visitors.TooLarge, Message: "the body has more than the bytes that are read: " + http.StatusText(http.StatusRequestEntityTooLarge), Extra: map[string]any{"limit": over.Limit}}
		}
	}
	return err
}

// into reads the body as JSON: what stands in it twice has no meaning.
func (c *call) into(v any) error {
	if len(c.body) == 0 || string(c.body) == "null" {
		return nil
	}
	if err := tools.CheckObject(c.body); err != nil {
		return invalid("the body is not the JSON object that this takes: " + err.Error())
	}
	err := json.Unmarshal(c.body, v)
	if of, ok := errors.AsType[*visitors.Refusal](err); ok {
		return of
	}
	if err != nil {
		return invalid("the body is not the JSON object that this takes")
	}
	return nil
}

func invalid(text string) error {
	return &visitors.Refusal{Code: visitors.InvalidRequest, Message: text}
}

// request is what a JWT may be bound to.
func (c *call) request() *visitors.Request {
	sent := c.r.Header.Values("Authorization")
	token := ""
	if len(sent) == 1 {
		token = bearer(sent[0])
	}
	return &visitors.Request{
		Token: token, Audiences: c.face.audiences(c.r), Method: c.r.Method, URL: c.issuer + c.r.URL.Path, Body: c.body,
	}
}

// bearer is the token of a header Authorization; "" for none.
func bearer(header string) string {
	if scheme, token, _ := strings.Cut(header, " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}

// caller reads the JWT of a host or an agent.
func (c *call) caller() (err error) {
	c.by, err = c.face.room.Who(c.ctx(), c.request())
	return err
}

// agent reads the JWT of an agent that is active.
func (c *call) agent() (err error) {
	c.by, err = c.face.room.ActiveAgent(c.ctx(), c.request())
	return err
}

// whoOrPerson reads the JWT of a host or an agent, or else who has signed in or bears a token
// of theirs: the other is nil or zero.
func (c *call) whoOrPerson() (person ucan.DID, err error) {
	if c.request().IsVisitors() {
		return ucan.DID{}, c.caller()
	}
	who, err := c.inPerson()
	return who.DID, err
}

// issuer is the URL of the venue; "" where nobody has said it and the request came from
// another machine, whose word for it is not taken.
func (f *Face) issuer(r *http.Request) string {
	if set := f.room.Settings().Issuer; set != "" {
		return strings.TrimSuffix(set, "/")
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return ""
	}
	u := url.URL{Scheme: "http", Host: at.String()}
	if r.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}

// audiences are those that a JWT for the venue may have: the issuer, and the URL at which
// capabilities are executed, which the published client writes.
func (f *Face) audiences(r *http.Request) (list []string) {
	issuers := []string{f.issuer(r)}
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && f.room.Settings().Issuer == "" {
		if u, err := url.Parse(issuers[0]); err == nil {
			u.Host = net.JoinHostPort("localhost", portOf(at))
			issuers = append(issuers, u.String())
		}
	}
	for _, i := range issuers {
		list = append(list, i, i+"/", i+executePath)
	}
	return list
}

func portOf(at *net.TCPAddr) string {
	_, port, _ := net.SplitHostPort(at.String())
	return port
}

// write answers with JSON.
func (c *call) write(status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		c.w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(raw) // a caller who is gone is told nothing
}

func (c *call) ok(v any) error {
	c.write(http.StatusOK, v)
	return nil
}
