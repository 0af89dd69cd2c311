package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/agentauth"
	"usher/tools/form"
	"usher/tools/spend"
)

// AgentAuth lets agents from elsewhere in, by the Agent-Auth protocol. Without capabilities
// nobody is let in.
type AgentAuth struct {
	_              struct{}          `noun:"the agentauth section" example:"{'issuer': 'https://venue.example.org', 'capabilities': [{'name': 'read_policy', 'operation': 'covia:read', 'caps': [{'with': 'w/docs/', 'can': 'crud/read'}]}]}"`
	Issuer         string            `json:"issuer,omitempty" example:"https://venue.example.org" jsonschema:"URL of this venue, as agents and browsers reach it. Default: the address of the port, on this machine alone."`
	Description    string            `json:"description,omitempty" example:"Invoices and payments of Acme." jsonschema:"What agents are told that the venue is for."`
	Capabilities   []AgentCapability `json:"capabilities,omitempty" example:"[{'name': 'read_policy', 'operation': 'covia:read', 'caps': [{'with': 'w/docs/', 'can': 'crud/read'}]}]" jsonschema:"What agents may ask for."`
	Autonomous     *Autonomous       `json:"autonomous,omitzero" jsonschema:"Agents that nobody approves. Default: none are let in."`
	Session        time.Duration     `json:"session,omitempty" example:"1h" jsonschema:"How long an agent may be silent until it has expired. Default: 1h."`
	Lifetime       time.Duration     `json:"lifetime,omitempty" example:"24h" jsonschema:"How long an agent is active at most until it has expired. Default: 24h."`
	Absolute       time.Duration     `json:"absolute,omitempty" example:"720h" jsonschema:"Age at which an agent is revoked for good. Default: 0, none."`
	Agents         int               `json:"agents,omitempty" example:"100" jsonschema:"Agents that one host may have at once. Default: 100."`
	AllowPrivate   bool              `json:"allow_private,omitempty" example:"true" jsonschema:"Whether the URLs of keys may lead into this machine or a private network. Default: false."`
	Services       []AgentService    `json:"services,omitempty" example:"[{'name': 'bank', 'secret': 'secret:BANK'}]" jsonschema:"Services elsewhere that ask here what an agent was granted (introspection)."`
	PrivateServers []string          `json:"private_servers,omitempty" noun:"a server" each:"its host" example:"['auth.internal:8443']" jsonschema:"Servers elsewhere that agents of this venue may reach by agentauth:* although their address is private or they speak plain HTTP: each a host, with its port where that is not the scheme's. Default: none."`
}

// AgentCapability is an operation of the venue under a name that agents ask for.
type AgentCapability struct {
	_           struct{}         `noun:"a capability" required:"name,operation,caps" example:"{'name': 'read_policy', 'operation': 'covia:read', 'caps': [{'with': 'w/docs/', 'can': 'crud/read'}]}"`
	Name        string           `json:"name" example:"read_policy" pattern:"^[a-z0-9_]{1,64}$" jsonschema:"What agents call it."`
	Operation   string           `json:"operation" example:"covia:read" jsonschema:"The operation that it is, whose input are the arguments."`
	Description string           `json:"description,omitempty" example:"Read a policy of the company." jsonschema:"What people read when they approve it. Default: the operation's."`
	Caps        caps.Declaration `json:"caps" example:"[{'with': 'w/docs/', 'can': 'crud/read'}]" jsonschema:"What a grant gives of the namespace of the person who approves: what the operation needs by itself. A segment {field} is the argument of that name where a grant fixes it, and all there is where not."`
	Within      caps.Declaration `json:"within,omitzero" example:"[{'with': 'w/ledger/', 'can': 'crud'}]" jsonschema:"What the operation may do further while it runs, such as the steps of an orchestration. The grant itself does not give it."`
	Constraints json.RawMessage  `json:"constraints,omitempty" kind:"object" want:"fields" example:"{'amount': {'max': 1000}}" jsonschema:"Constraints of every grant, beside those that an agent asks for: max, min, in, not_in, or the value itself."`
	Public      bool             `json:"public,omitempty" jsonschema:"Whether everybody may see that there is such a capability. Default: false."`
	Default     bool             `json:"default,omitempty" jsonschema:"Whether the agents of a host that a person has approved get it without asking again. Default: false."`
	Approval    string           `json:"approval,omitempty" example:"session" enum:"none|session|webauthn" want:"none, session or webauthn" jsonschema:"How the person who approves is known: none is whoever is signed in, session who signed in within 5 minutes, webauthn whose passkey confirms exactly what is approved (it takes an issuer with a name). Default: none."`
	Answer      string           `json:"answer,omitempty" example:"async" enum:"sync|async|stream" want:"sync, async or stream" jsonschema:"How it answers: sync with the result, async with an address to ask, stream with events. Default: sync."`
	Location    string           `json:"location,omitempty" example:"https://bank.example.org/agent/execute" jsonschema:"URL of the service that executes it instead of this venue."`
}

// Autonomous says who answers for agents that nobody approves, and what they get.
type Autonomous struct {
	_            struct{}     `noun:"autonomous" required:"owner,capabilities" example:"{'owner': 'acme', 'capabilities': ['read_policy'], 'budget': {'money': 5}}"`
	Owner        string       `json:"owner" example:"acme" jsonschema:"The user of the venue in whose name they are granted."`
	Capabilities []string     `json:"capabilities" noun:"a capability" each:"its name" example:"['read_policy']" jsonschema:"What they may have."`
	Budget       spend.Limits `json:"budget,omitzero" noun:"a budget" example:"{'money': 5}" jsonschema:"What models may use in all for what these agents execute, all of them together. Default: no limit."`
}

// AgentService is a service that may ask what an agent was granted.
type AgentService struct {
	_      struct{} `noun:"a service" required:"name,secret" example:"{'name': 'bank', 'secret': 'secret:BANK'}"`
	Name   string   `json:"name" example:"bank" pattern:"^[a-z0-9][a-z0-9-]{0,63}$" jsonschema:"What it is called here."`
	Secret string   `json:"secret" example:"secret:BANK" pattern:"^secret:" jsonschema:"The secret of the user that it sends as a bearer token: secret:NAME."`
}

// Ways in which a person is known who approves.
const (
	ApprovalNone     = "none"
	ApprovalSession  = "session"
	approvalWebauthn = "webauthn"
)

// Ways in which a capability answers; none is at once.
const (
	AnswerAsync  = "async"
	AnswerStream = "stream"
)

var agentCapabilityName = value.Form(`^[a-z0-9_]{1,64}$`)

// Capability is the capability of a name, or nil.
func (a *AgentAuth) Capability(name string) *AgentCapability {
	for i := range a.Capabilities {
		if a.Capabilities[i].Name == name {
			return &a.Capabilities[i]
		}
	}
	return nil
}

// Check says what is wrong with the section.
func (a *AgentAuth) Check() error {
	if err := checkURL(a.Issuer); err != nil {
		return form.In("issuer", err)
	}
	for _, host := range a.PrivateServers {
		if err := agentauth.CheckHost(host); err != nil {
			return form.In("private_servers", err)
		}
	}
	for i := range a.Capabilities {
		if c := &a.Capabilities[i]; a.Capability(c.Name) != c {
			return form.In("capabilities", fmt.Errorf("capability %q stands here twice: give each a name of its own", c.Name))
		} else if _, _, err := a.Party(); err != nil && c.Approval == approvalWebauthn {
			return form.In("issuer", fmt.Errorf("a passkey has to confirm %s (approval: webauthn), and %w", c.Name, err))
		}
	}
	for _, name := range a.autonomous() {
		switch c := a.Capability(name); {
		case c == nil:
			return form.In("autonomous", fmt.Errorf("there is no capability %q", name))
		case c.Approval != "" && c.Approval != ApprovalNone:
			return form.In("autonomous", fmt.Errorf("a person has to approve %s (approval: %s), and nobody approves autonomous agents", name, c.Approval))
		}
	}
	for i, s := range a.Services {
		switch {
		case !isSecret(s.Secret):
			return form.In("services", errors.New("a secret never stands here: write secret:NAME, and keep it with usher secrets set NAME"))
		case slices.ContainsFunc(a.Services[:i], func(o AgentService) bool { return o.Name == s.Name }):
			return form.In("services", fmt.Errorf("service %q stands here twice: give each a name of its own", s.Name))
		}
	}
	return nil
}

var (
	partyName = value.Form(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`)
	errParty  = errors.New("passkeys are made for the name of a venue: write its URL as agentauth.issuer, such as https://venue.example.org, or http://localhost:8080 on this machine alone; an IP address is no name")
)

// Party is what the passkeys of people are made for: the name of the venue's host, and the
// origin of its pages, both by the issuer (WebAuthn, 5.1.2). An error says what is missing.
func (a *AgentAuth) Party() (name, origin string, err error) {
	u, err := url.Parse(a.Issuer)
	if err != nil || checkURL(a.Issuer) != nil {
		return "", "", errParty
	}
	name = strings.ToLower(u.Hostname())
	if name != "localhost" && (u.Scheme != "https" || !partyName().MatchString(name)) {
		return "", "", errParty
	}
	origin = u.Scheme + "://" + name
	if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		origin += ":" + port
	}
	return name, origin, nil
}

func (a *AgentAuth) autonomous() []string {
	if a.Autonomous == nil {
		return nil
	}
	return a.Autonomous.Capabilities
}

// checkURL says why a text that is not empty is no URL of a service.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname()))) {
		return errors.New("this is no https URL: write it as https://venue.example.org, without a query")
	}
	return nil
}

// Check says what is wrong with a capability.
func (c *AgentCapability) Check() error {
	if c.Name != "" && !agentCapabilityName().MatchString(c.Name) {
		return form.In("name", fmt.Errorf("%q names no capability: give 1 to 64 of a-z, 0-9 and _", c.Name))
	}
	for key, list := range map[string]caps.Declaration{"caps": c.Caps, "within": c.Within} {
		if list.IsNull() {
			return form.In(key, errors.New("a grant would be unrestricted: list what it gives"))
		}
		set, _ := list.Set()
		for one := range set.All() {
			switch {
			case !one.IsPlain():
				return form.In(key, fmt.Errorf("%s: a grant has its terms as constraints: write with and can alone", one))
			case one.Resource().IsRoot() && one.Can() == "*":
				return form.In(key, errors.New("* on everything is no bound: name what the operation needs"))
			case key == "caps" && (strings.Contains(one.With(), "://") || strings.HasPrefix(one.With(), "{")):
				return form.In(key, fmt.Errorf("%s is in nobody's namespace: a grant gives of that of the person who approves, such as w/docs/; what the operation reaches elsewhere stands under within", one))
			case one.Resource().DID() != "":
				return form.In(key, fmt.Errorf("%s is another's: a grant gives of the namespace of the person who approves", one))
			}
		}
	}
	switch {
	case c.Default && c.Approval != "" && c.Approval != ApprovalNone:
		return form.In("default", errors.New("what a person has to approve anew is no default: leave approval out, or default"))
	case c.Location != "" && c.Answer != "":
		return form.In("answer", errors.New("the service at location answers as it likes: leave one of them out"))
	}
	if err := checkURL(c.Location); err != nil {
		return form.In("location", err)
	}
	return nil
}
