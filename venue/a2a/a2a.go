package a2a

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
)

// Prefix is where the face lies.
const Prefix = "/a2a"

// Face is the handler. It is safe for concurrent use.
type Face struct {
	door *face.Door
}

// New returns the face of the door's venue.
func New(door *face.Door) *Face {
	door.Venue.PushBy(tell)
	return &Face{door: door}
}

// call is one request of a caller.
type call struct {
	face       *Face
	p          *venue.Principal // the program that calls, for person
	person     *venue.Principal
	w          http.ResponseWriter
	r          *http.Request
	agent      string // the tenant; empty where none is named
	version    string
	extensions []string
	params     json.RawMessage
	brief      bool // tasks are told without what they wait for
}

// ServeHTTP answers a request.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == CardPath {
		f.card(w, r, "")
		return
	}
	path := strings.Trim(strings.TrimPrefix(r.URL.Path, Prefix), "/")
	agent, rest := tenant(path)
	switch {
	case rest == strings.Trim(CardPath, "/"):
		f.card(w, r, agent)
	case rest == "":
		f.rpc(w, r, agent)
	default:
		f.http(w, r, agent, rest)
	}
}

// tenant divides a path below [Prefix] into the agent that it names and the rest. What a
// method begins with is no agent's name here: such an agent is named in the request.
func tenant(path string) (agent, rest string) {
	first, rest, _ := strings.Cut(path, "/")
	if heads[first] || strings.Contains(first, ":") {
		return "", path
	}
	return first, rest
}

// open lets a caller in whose request has been read as far as its head.
func (f *Face) open(w http.ResponseWriter, r *http.Request, agent string) (*call, error) {
	c := &call{face: f, w: w, r: r, agent: agent}
	if err := c.agree(); err != nil {
		return c, err
	}
	err := f.door.Page(r)
	if err != nil {
		return c, err
	}
	if c.person, err = f.door.Caller(r); err != nil {
		return c, err
	}
	c.p = c.person.AsRelay()
	return c, nil
}

// body reads a JSON object.
func (c *call) body() (json.RawMessage, error) {
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != jsonType && kind != ownType {
		return nil, errType.because("the body has to be " + jsonType + " or " + ownType)
	}
	raw, err := face.Body(c.w, c.r)
	switch {
	case fault.Of(err) == fault.InvalidInput:
		return nil, errParse.because("the body does not come whole")
	case err != nil:
		return nil, err
	case !json.Valid(raw):
		return nil, errParse
	}
	return raw, nil
}

// Media types of requests and answers.
const (
	jsonType = face.JSON
	ownType  = "application/a2a+json"
)

// read reads the parameters, and the tenant that they name.
func (c *call) read(params any) error {
	var named struct {
		Tenant string `json:"tenant"`
	}
	if len(c.params) == 0 {
		c.params = json.RawMessage("{}")
	}
	if err := tools.CheckObject(c.params); err != nil {
		return errParams.because("params are no JSON object: " + err.Error())
	}
	if err := json.Unmarshal(c.params, &named); err != nil {
		return errParams.because(err.Error())
	}
	switch {
	case c.agent == "":
		c.agent = named.Tenant
	case named.Tenant != "" && named.Tenant != c.agent:
		return errParams.because("tenant is not the agent that the address names")
	}
	if err := json.Unmarshal(c.params, params); err != nil {
		return errParams.because(err.Error())
	}
	return nil
}

// takeTime has the answer take as long as it takes.
func (c *call) takeTime() error {
	return http.NewResponseController(c.w).SetWriteDeadline(time.Time{})
}

// write sends an answer.
func write(w http.ResponseWriter, kind string, status int, answer any) {
	if err := face.Answer(w, kind, status, answer); err != nil { // of types of this package
		panic(err)
	}
}
