package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/agents"
	"usher/tools/form"
)

// Webhooks are requests that come in and start something, and those that go out and tell
// of something (Standard Webhooks).
type Webhooks struct {
	_   struct{}  `noun:"the webhooks" example:"{'in': [{'id': 'tickets', 'secret': 'secret:TICKETS', 'agent': 'Carol'}]}"`
	In  []HookIn  `json:"in,omitempty" example:"[{'id': 'tickets', 'secret': 'secret:TICKETS', 'agent': 'Carol'}]" jsonschema:"Signed requests to /hooks/<id>, each of which starts a task or a job."`
	Out []HookOut `json:"out,omitempty" example:"[{'id': 'ops', 'url': 'https://ops.example.org/usher', 'secret': 'secret:OPS', 'events': ['run.failed']}]" jsonschema:"URLs that are told of what becomes of runs, in signed requests."`
}

// HookIn is what a signed request starts.
type HookIn struct {
	_      struct{}         `noun:"a webhook" required:"id,secret" example:"{'id': 'tickets', 'secret': 'secret:TICKETS', 'agent': 'Carol'}"`
	ID     string           `json:"id" example:"tickets" pattern:"^[a-z0-9][a-z0-9-]{0,63}$" jsonschema:"Its name: requests come to /hooks/<id>."`
	Secret string           `json:"secret" example:"secret:TICKETS" pattern:"^secret:" jsonschema:"The secret of the user that signs requests: secret:NAME, of a text whsec_… with 24 to 64 bytes in base64."`
	Agent  string           `json:"agent,omitempty" example:"Carol" jsonschema:"The agent that each request is a task for (agent:request)."`
	Op     string           `json:"op,omitempty" example:"o/intake" jsonschema:"The operation that each request runs, instead of agent."`
	Input  json.RawMessage  `json:"input,omitempty" kind:"object" want:"fields" example:"{'queue': 'new'}" jsonschema:"What the task or the operation is given beside the request's body, which stands in its field body. Left out, an operation is given the body alone."`
	Caps   caps.Declaration `json:"caps,omitzero" example:"[{'with': 'w/tickets', 'can': 'crud'}]" jsonschema:"What all that comes of a request may do at most. An operation needs it; an agent is bounded by its own capabilities, too."`
}

// HookOut is a URL that is told of runs.
type HookOut struct {
	_            struct{} `noun:"a webhook" required:"id,url,secret" example:"{'id': 'ops', 'url': 'https://ops.example.org/usher', 'secret': 'secret:OPS'}"`
	ID           string   `json:"id" example:"ops" pattern:"^[a-z0-9][a-z0-9-]{0,63}$" jsonschema:"Its name."`
	URL          string   `json:"url" example:"https://ops.example.org/usher" pattern:"^https?://" jsonschema:"Where the requests go. Redirects are not followed."`
	Secret       string   `json:"secret" example:"secret:OPS" pattern:"^secret:" jsonschema:"The secret of the user that signs requests: secret:NAME, of a text whsec_… with 24 to 64 bytes in base64."`
	Events       []string `json:"events,omitempty" noun:"an event" each:"run.completed, run.failed, run.cancelled or run.waiting" example:"['run.failed', 'run.waiting']" jsonschema:"What it is told of: run.completed, run.failed, run.cancelled, and run.waiting, as for the approval of a person. Default: all of them."`
	Agents       []string `json:"agents,omitempty" noun:"an agent" each:"its id" example:"['Carol']" jsonschema:"Whose runs it is told of. Default: all of the user's."`
	AllowPrivate bool     `json:"allow_private,omitempty" example:"true" jsonschema:"Whether the URL may lead into this machine or a private network. Default: false."`
}

// Events that webhooks are told of.
const (
	RunCompleted = "run.completed"
	RunFailed    = "run.failed"
	RunCancelled = "run.cancelled"
	RunWaiting   = "run.waiting"
)

var (
	hookEvents = []string{RunCompleted, RunFailed, RunCancelled, RunWaiting}
	hookName   = value.Form(`^[a-z0-9][a-z0-9-]{0,63}$`)
)

var errHookSecret = form.In("secret", errors.New("a secret never stands here: write secret:NAME, and keep it with usher secrets set NAME"))

// isSecret reports whether a setting names a secret.
func isSecret(setting string) bool {
	return len(setting) > len("secret:") && strings.HasPrefix(setting, "secret:")
}

// Check says that no two webhooks have one name.
func (w *Webhooks) Check() error {
	for i, h := range w.In {
		if slices.ContainsFunc(w.In[:i], func(o HookIn) bool { return o.ID == h.ID }) {
			return form.In("in", fmt.Errorf("webhook %q stands here twice: give each a name of its own", h.ID))
		}
	}
	for i, h := range w.Out {
		if slices.ContainsFunc(w.Out[:i], func(o HookOut) bool { return o.ID == h.ID }) {
			return form.In("out", fmt.Errorf("webhook %q stands here twice: give each a name of its own", h.ID))
		}
	}
	return nil
}

// Check says what is wrong with the webhook itself.
func (h *HookIn) Check() error {
	_, bounded := h.Caps.Set()
	switch {
	case h.ID != "" && !hookName().MatchString(h.ID):
		return form.In("id", fmt.Errorf("%q names no webhook: give 1 to 64 of a-z, 0-9 and -", h.ID))
	case h.Secret != "" && !isSecret(h.Secret):
		return errHookSecret
	case (h.Agent == "") == (h.Op == ""):
		return errors.New("a webhook starts either agent or op: write one of them")
	case h.Agent != "" && agents.CheckID(h.Agent) != nil:
		return form.In("agent", agents.CheckID(h.Agent))
	case h.Caps.IsNull():
		return form.In("caps", errors.New("whoever has the secret would be unrestricted: list what a request may do"))
	case h.Op != "" && !bounded:
		return errors.New("caps are missing: list what op may do on a request, as whoever has the secret would be unrestricted")
	}
	return nil
}

// Refine adds the rule of Check.
func (*HookIn) Refine(s *jsonschema.Schema) { s.OneOf = form.OneOf("agent", "op") }

// Check says what is wrong with the webhook itself.
func (h *HookOut) Check() error {
	if h.ID != "" && !hookName().MatchString(h.ID) {
		return form.In("id", fmt.Errorf("%q names no webhook: give 1 to 64 of a-z, 0-9 and -", h.ID))
	}
	if h.Secret != "" && !isSecret(h.Secret) {
		return errHookSecret
	}
	if u, err := url.Parse(h.URL); h.URL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return form.In("url", errors.New("this is no http or https URL"))
	}
	for _, event := range h.Events {
		if !slices.Contains(hookEvents, event) {
			return form.In("events", fmt.Errorf("%q is no event: those are %v", event, hookEvents))
		}
	}
	for _, id := range h.Agents {
		if err := agents.CheckID(id); err != nil {
			return form.In("agents", err)
		}
	}
	return nil
}
