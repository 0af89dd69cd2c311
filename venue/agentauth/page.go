package agentauth

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"usher/caps"
	"usher/tools/approvals"
	"usher/venue/auth"
	"usher/venue/face"
	"usher/venue/visitors"
)

// pagePath is the page on which a person approves.
const pagePath = "/agent/device"

// signInPath is where people sign in.
const signInPath = "/login"

// inPerson is who has signed in, or bears a token of theirs: nobody but in person answers.
func (c *call) inPerson() (visitors.Person, error) {
	who, in, err := c.sessionPerson()
	if in != nil && c.r.Method != http.MethodGet && !in.MayChange(c.r.Header.Get(face.ForgeryHeader)) {
		err = errForged
	}
	return who, err
}

var errPerson = &visitors.Refusal{Code: visitors.Unauthorized, Message: "this is for a person: sign in at " + signInPath + ", or send a JWT of the agent or its host"}

// sessionPerson is the person who has signed in, with their session; nil for who bears a token.
func (c *call) sessionPerson() (who visitors.Person, in *auth.PersonSession, err error) {
	if face.HasBearer(c.r) {
		c.person, err = c.face.door.Caller(c.r)
	} else {
		c.person, in, err = c.face.door.BySession(c.r)
	}
	if err != nil || !c.person.InPerson() {
		c.person = nil
		return who, nil, errPerson
	}
	if who.DID = c.person.DID(); in != nil {
		who.Since = in.Since
	}
	return who, in, nil
}

// approve is the answer of a person as JSON.
func (c *call) approve() error {
	var in struct {
		Agent        string          `json:"agent_id"`
		Approval     string          `json:"approval_id"`
		Action       string          `json:"action"`
		Code         string          `json:"user_code"`
		Capabilities json.RawMessage `json:"capabilities"`
		TTL          int64           `json:"ttl"` // s
		Reason       string          `json:"reason"`
	}
	if err := c.into(&in); err != nil {
		return err
	}
	who, err := c.inPerson()
	if err != nil {
		return err
	}
	switch {
	case in.Action != "approve" && in.Action != "deny":
		return invalid("action is approve or deny")
	case in.Code == "" && in.Approval == "":
		return &visitors.Refusal{Code: visitors.InvalidRequest, Message: "user_code is missing: the program that asks shows it"}
	case in.TTL < 0 || in.TTL > int64(365*24*time.Hour/time.Second):
		return invalid("ttl is a number of seconds, up to a year")
	}
	said := visitors.Answer{Approve: in.Action == "approve", Reason: in.Reason}
	said.Lasts = time.Duration(in.TTL) * time.Second
	if len(in.Capabilities) > 0 && string(in.Capabilities) != "null" {
		var list []visitors.Want
		if err := json.Unmarshal(in.Capabilities, &list); err != nil {
			return refusal(cmpRefusal(err))
		}
		said.Capabilities = map[string]visitors.Constraints{}
		for _, w := range list {
			if _, twice := said.Capabilities[w.Name]; twice {
				return invalid("a capability stands there twice: approve it once")
			}
			said.Capabilities[w.Name] = w.Constraints
		}
	}
	which, err := c.which(in.Agent, in.Code, in.Approval)
	if err != nil {
		return err
	}
	out, added, err := c.face.room.Answer(c.ctx(), who, which, said)
	if err != nil {
		return err
	}
	if !said.Approve {
		return c.ok(map[string]any{"status": "denied", "agent_id": out.Agent.ID})
	}
	return c.ok(map[string]any{"status": "approved", "agent_id": out.Agent.ID, "agentId": out.Agent.ID, "added": added})
}

// cmpRefusal is an error of a body: a refusal, or else that it was not read.
func cmpRefusal(err error) error {
	if of, ok := errors.AsType[*visitors.Refusal](err); ok {
		return of
	}
	return invalid("capabilities is no list of names, or of objects with name and constraints")
}

// pageView is what the page says.
type pageView struct {
	Venue, Who, Error, Done, Forgery string
	Code, Agent, Request             string
	Waiting                          []approvals.Request
	Ask                              *visitors.Question
	Wanted                           []wantView
	Times                            []period
	SignIn                           string
	Asked                            string // of a passkey, as JSON
	NoPasskey                        bool   // it takes one, and the person has none
}

// wantView is a capability that is asked for.
type wantView struct {
	Name, Description, Limits, Strength, Operation, Gives, Within string
	Terms                                                         string // digest of these

	Off   bool   // the person has taken the tick away
	Typed string // limits of the person
}

// period is a time that grants may be given for.
type period struct {
	Seconds, Text string
	Chosen        bool
}

var times = []period{{"0", "As long as the agent lasts", false}, {"900", "15 minutes", false}, {"3600", "1 hour", false}, {"28800", "8 hours", false}}

// restore puts what a person has chosen back into the page, where they have seen it before.
func (s *pageView) restore(form url.Values) {
	s.Times = slices.Clone(times)
	if form.Get("seen") == "" {
		return
	}
	for i := range s.Wanted {
		w := &s.Wanted[i]
		w.Off, w.Typed = !slices.Contains(form["allow"], w.Name), form.Get("limit-"+w.Name)
	}
	for i := range s.Times {
		s.Times[i].Chosen = s.Times[i].Seconds == form.Get("ttl")
	}
}

//go:embed pages
var files embed.FS

var (
	pages = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("").Funcs(template.FuncMap{"asker": asker}).ParseFS(files, "pages/*"))
	})

	// scriptHash is what a page names the script of passkeys by, which asks the browser for what a
	// form says in data-get and data-create, one press each, and sends the form with what came of
	// it, as if the button of data-press was pressed.
	scriptHash = func() string {
		script, _ := files.ReadFile("pages/passkey.js") // it is there, or nothing is built
		sum := sha256.Sum256(script)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}()
)

func asker(operation string, input json.RawMessage) string {
	who, _, _ := visitors.ReadRequest(operation, input)
	return who
}

// page asks a person for the code. It looks none up, so that a link that somebody else made
// uses up none of the codes that they may get wrong, and no guess is free. What stands in their
// approvals it shows without one.
func (c *call) page() error {
	q := c.r.URL.Query()
	which := visitors.Which{Agent: q.Get("agent_id"), Code: q.Get("code"), Request: q.Get("request")}
	var look url.Values
	if which.Request != "" {
		look = url.Values{}
	}
	c.show(http.StatusOK, which, "", look, "", nil)
	return nil
}

// show writes the page: what was done, or else what is asked by a code, where that is to be looked
// up for a form, and what a passkey is asked for.
func (c *call) show(status int, which visitors.Which, done string, look url.Values, asked string, failed error) {
	s := pageView{Venue: c.face.door.Venue.Name(), Done: done, Code: which.Code, Agent: which.Agent, Request: which.Request}
	s.SignIn = signInPath + "?to=" + url.QueryEscape(c.r.URL.RequestURI())
	who, in, err := c.sessionPerson()
	if err == nil && in != nil {
		s.Who, s.Forgery = who.DID.String(), in.Forgery
	}
	if s.Who != "" && look != nil {
		if which, err = c.which(which.Agent, which.Code, which.Request); err == nil {
			s.Ask, err = c.face.room.Find(c.ctx(), who, which)
		}
		if err == nil {
			s.Wanted = c.wantViews(s.Ask)
			s.Agent = s.Ask.Agent.ID
			s.restore(look)
			s.Asked = asked
		} else if failed == nil {
			failed = err
			status = c.statusOf(refusal(err))
		}
	}
	if s.Who != "" && s.Ask == nil && done == "" && which.Code == "" {
		if s.Waiting, err = c.requests(); err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		e := refusal(failed)
		c.record("", e)
		s.Error, s.NoPasskey = e.Message, e.Code == visitors.WebauthnNone
	}
	c.html(status, "approve.html", s, s.Asked != "")
}

// html writes a page, which runs the script of passkeys or none.
func (c *call) html(status int, page string, shown any, script bool) {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, page, shown); err != nil {
		c.fail(err)
		return
	}
	policy := "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
	if script {
		policy += "; script-src " + scriptHash
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer") // the code stands in the address
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(b.Bytes()) // a reader who is gone is told nothing
}

// listOf is what capabilities of the configuration allow, "" for nothing.
func listOf(of caps.Declaration) string {
	set, _ := of.Set() // it was read with the configuration
	var list []string
	for c := range set.All() {
		list = append(list, c.String())
	}
	return strings.Join(list, ", ")
}

func (c *call) wantViews(q *visitors.Question) (list []wantView) {
	s := c.face.room.Settings()
	for i := range q.Pending {
		g := &q.Pending[i]
		w := wantView{Name: g.Capability, Terms: q.Terms[g.Capability], Limits: g.Constraints.String(), Strength: "none"}
		if one := s.Capability(g.Capability); one != nil {
			w.Description, w.Operation = one.Description, one.Operation
			if one.Approval != "" {
				w.Strength = one.Approval
			}
			w.Gives, w.Within = listOf(one.Caps), listOf(one.Within)
			if both, err := c.face.room.ConstraintsOf(g); err == nil {
				w.Limits = both.String()
			}
		}
		list = append(list, w)
	}
	return list
}
