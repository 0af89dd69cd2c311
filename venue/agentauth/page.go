package agentauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
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

// person is who has signed in, or bears a token of theirs: nobody but in person answers.
func (c *call) person() (visitors.Person, error) {
	who, _, err := c.signedIn()
	if err == nil && c.r.Method != http.MethodGet && !face.HasBearer(c.r) {
		_, in, e := c.face.door.SignedIn(c.r)
		if e != nil || !in.MayChange(c.r.Header.Get(face.ForgeryHeader)) {
			return who, errForged
		}
	}
	return who, err
}

var errPerson = &visitors.Refusal{Code: visitors.Unauthorized, Message: "this is for a person: sign in at " + signInPath + ", or send a JWT of the agent or its host"}

// signedIn is the person who has signed in.
func (c *call) signedIn() (visitors.Person, *auth.SignedIn, error) {
	if face.HasBearer(c.r) {
		p, err := c.face.door.Caller(c.r)
		if err != nil || !p.InPerson() {
			return visitors.Person{}, nil, errPerson
		}
		c.who = p.DID()
		return visitors.Person{DID: p.DID()}, nil, nil
	}
	p, in, err := c.face.door.SignedIn(c.r)
	if err != nil || !p.InPerson() {
		return visitors.Person{}, nil, errPerson
	}
	c.who = p.DID()
	return visitors.Person{DID: p.DID(), Since: in.Since}, in, nil
}

// approve is the answer of a person as JSON.
func (c *call) approve() error {
	var in struct {
		agentID
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
	who, err := c.person()
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
		var list []visitors.Wanted
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
	which, err := c.which(in.ID, in.Code, in.Approval)
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

// shownPage is what the page says.
type shownPage struct {
	Venue, Who, Error, Done, Forgery string
	Code, Agent, Request             string
	Waiting                          []approvals.Request
	Ask                              *visitors.Question
	Wanted                           []wanted
	Times                            []lasting
	SignIn                           string
	Asked                            string // of a passkey, as JSON
	NoPasskey                        bool   // it takes one, and the person has none
}

// wanted is a capability that is asked for.
type wanted struct {
	Name, Description, Limits, Strength, Operation, Gives, Within string

	Off   bool   // the person has taken the tick away
	Typed string // limits of the person
}

// lasting is a time that grants may be given for.
type lasting struct {
	Seconds, Text string
	Chosen        bool
}

var times = []lasting{{"0", "As long as the agent lasts", false}, {"900", "15 minutes", false}, {"3600", "1 hour", false}, {"28800", "8 hours", false}}

// kept puts what a person has chosen back into the page, where they have seen it before.
func (s *shownPage) kept(form url.Values) {
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

var approvalPage = template.Must(template.New("approve").Funcs(template.FuncMap{"asker": asker}).Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Venue}}: an agent asks</title>
` + pageStyle + `<main>
<h1>{{.Venue}}</h1>
{{with .Error}}<p class="error" role="alert">{{.}}</p>{{end}}
{{if .NoPasskey}}<p><a href="` + passkeysPath + `">Make a passkey</a>, then come back to this page.</p>{{end}}
{{if .Done}}<p role="status">{{.Done}}</p><p>You may close this page.</p>
{{else if not .Who}}<p>An agent asks for something here. <a href="{{.SignIn}}">Sign in</a> to see what.</p>
{{else if not .Ask}}
{{with .Waiting}}<h2>What waits for you</h2>
<ul>{{range .}}<li><a href="` + pagePath + `?request={{.ID}}">{{.Operation}}</a> <span class="quiet">by {{asker .Operation .Input}}</span></li>
{{end}}</ul>
{{end}}<form method="post" action="` + pagePath + `">
<input type="hidden" name="forgery" value="{{.Forgery}}"><input type="hidden" name="agent_id" value="{{.Agent}}">
<label for="code">The code that the program shows</label>
<input type="text" id="code" name="code" value="{{.Code}}" autocomplete="off" autocapitalize="characters" spellcheck="false" required autofocus>
<button name="action" value="look">Continue</button></form>
{{else}}
<p>You are <code>{{.Who}}</code>. Approve only what you have begun yourself{{with .Code}}: the code is <strong>{{.}}</strong>{{end}}.</p>
<dl>
<dt>Agent</dt><dd>{{.Ask.Agent.Name}} <span class="quiet">({{.Ask.Agent.ID}})</span></dd>
<dt>Of the host</dt><dd>{{or .Ask.Host.Name "without a name"}} <span class="quiet">({{.Ask.Host.ID}}{{if .Ask.Host.User.IsZero}}, not approved before: it is yours from now on, and registers further agents with what is given without asking{{end}})</span></dd>
{{with .Ask.Ask.Reason}}<dt>It says why</dt><dd>{{.}}</dd>{{end}}
{{with .Ask.Ask.Says}}<dt>Its message</dt><dd>{{.}}</dd>{{end}}
{{if .Ask.IsClaim}}<dt>You claim it</dt><dd>it has acted for nobody, and ends; its host is yours from now on, and registers other agents for you</dd>
{{else}}<dt>It acts</dt><dd>on your behalf, until you revoke it; what it did not use for long it has to ask for again</dd>{{end}}
</dl>
<form method="post" action="` + pagePath + `"{{with .Asked}} data-press="approve" data-get="{{.}}"{{end}}>
<button hidden name="action" value="look"></button>{{/* what Enter on a tick presses: it approves nothing */}}
<input type="hidden" name="seen" value="1"><input type="hidden" name="forgery" value="{{.Forgery}}"><input type="hidden" name="code" value="{{.Code}}"><input type="hidden" name="agent_id" value="{{.Agent}}"><input type="hidden" name="request" value="{{.Request}}">
{{range .Wanted}}<fieldset><legend><label><input type="checkbox" name="allow" value="{{.Name}}"{{if not .Off}} checked{{end}}> <strong>{{.Name}}</strong></label></legend>
<p>{{.Description}}</p>
<p class="quiet">It runs <code>{{.Operation}}</code>, and gives {{.Gives}}.{{with .Within}} While it runs it may {{.}}, too.{{end}}{{if eq .Strength "session"}} You must have signed in within 5 minutes.{{else if eq .Strength "webauthn"}} A passkey of yours has to confirm it (<a href="` + passkeysPath + `">your passkeys</a>).{{end}}</p>
<p>{{if .Limits}}Only when {{.Limits}}.{{else}}Without limits on its arguments.{{end}}</p>
<label for="limit-{{.Name}}">Further limits, as JSON, for example <code>{"amount": {"max": 100}}</code></label>
<textarea id="limit-{{.Name}}" name="limit-{{.Name}}" rows="2" spellcheck="false">{{.Typed}}</textarea></fieldset>
{{else}}<p>It asks for no capability now.</p>{{end}}
<label for="ttl">For how long</label>
<select id="ttl" name="ttl">{{range .Times}}<option value="{{.Seconds}}"{{if .Chosen}} selected{{end}}>{{.Text}}</option>{{end}}</select>
{{if .Asked}}` + askPasskey + `{{end}}<p><button name="action" value="approve">Approve</button><button name="action" value="deny">Deny</button></p>
</form>
{{end}}</main>{{if .Asked}}<script>` + passkeyScript + `</script>{{end}}</html>
`))

func asker(operation string, input json.RawMessage) string {
	who, _, _ := visitors.Filed(operation, input)
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
	c.showPage(http.StatusOK, which, "", look, nil)
	return nil
}

// showPage writes the page: what was done, or else what is asked by a code, where that is to be
// looked up for a form.
func (c *call) showPage(status int, which visitors.Which, done string, look url.Values, failed error) {
	c.show(status, which, done, look, "", failed)
}

// show is showPage, where a passkey may be asked for something.
func (c *call) show(status int, which visitors.Which, done string, look url.Values, asked string, failed error) {
	s := shownPage{Venue: c.face.door.Venue.Name(), Done: done, Code: which.Code, Agent: which.Agent, Request: which.Request}
	s.SignIn = signInPath + "?to=" + url.QueryEscape(c.r.URL.RequestURI())
	who, in, err := c.signedIn()
	if err == nil && in != nil {
		s.Who, s.Forgery = who.DID.String(), in.Forgery
	}
	if s.Who != "" && look != nil {
		if which, err = c.which(which.Agent, which.Code, which.Request); err == nil {
			s.Ask, err = c.face.room.Find(c.ctx(), who, which)
		}
		if err == nil {
			s.Wanted = c.wanted(s.Ask)
			s.Agent = s.Ask.Agent.ID
			s.kept(look)
			s.Asked = asked
		} else if failed == nil {
			failed = err
			status = c.statusOf(refusal(err))
		}
	}
	if s.Who != "" && s.Ask == nil && done == "" && which.Code == "" {
		if s.Waiting, err = c.waiting(); err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		e := refusal(failed)
		c.record("", e)
		s.Error, s.NoPasskey = e.Message, e.Code == visitors.WebauthnNone
	}
	c.html(status, approvalPage, s, s.Asked != "")
}

// html writes a page, which runs the script of passkeys or none.
func (c *call) html(status int, page *template.Template, shown any, script bool) {
	var b bytes.Buffer
	if err := page.Execute(&b, shown); err != nil {
		c.fail(err)
		return
	}
	policy := "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
	if script {
		policy += "; script-src " + passkeyScriptHash
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
func listOf(of caps.Declared) string {
	set, _ := of.Set() // it was read with the configuration
	var list []string
	for c := range set.All() {
		list = append(list, c.String())
	}
	return strings.Join(list, ", ")
}

func (c *call) wanted(q *visitors.Question) (list []wanted) {
	s := c.face.room.Settings()
	for i := range q.Pending {
		g := &q.Pending[i]
		w := wanted{Name: g.Capability, Limits: g.Constraints.String(), Strength: "none"}
		if one := s.Capability(g.Capability); one != nil {
			w.Description, w.Operation = one.Description, one.Operation
			if one.Approval != "" {
				w.Strength = one.Approval
			}
			w.Gives, w.Within = listOf(one.Caps), listOf(one.Within)
			if both, err := c.face.room.Imposed(g); err == nil {
				w.Limits = both.String()
			}
		}
		list = append(list, w)
	}
	return list
}
