// Package agents has the operations that make agents, talk to them and manage
// them: agent:create, request, message, info, list, update, delete, fork,
// suspend and resume. [Operations] returns them over a [Service], which the
// venue has.
//
// Handing on capabilities is a requirement like any other: to give an agent
// {with, can}, the caller must hold it. So the gate itself refuses a child that
// would be wider than its creator.
package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/caps"
	"usher/tools"
	"usher/tools/form"
	"usher/tools/spend"
)

// Statuses of an agent.
const (
	Sleeping   = "SLEEPING"
	Running    = "RUNNING"
	Suspended  = "SUSPENDED"
	Terminated = "TERMINATED"
)

// Spec is what a person or an agent writes to define an agent. It is a form: a
// field stands here once, with all that readers, editors and models learn of it.
type Spec struct {
	_           struct{}        `noun:"an agent" text:"true" example:"{'id': 'Carol', 'prompt': '…', 'tools': ['covia:read'], 'caps': [{'with': 'w/', 'can': 'crud/read'}]}"`
	ID          string          `json:"id,omitempty" example:"Carol" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" jsonschema:"Name of the agent, kept at g/<id>."`
	Description string          `json:"description,omitempty" example:"Approves payments." jsonschema:"What the agent is for, as others are told."`
	Model       string          `json:"model,omitempty" example:"default" jsonschema:"Name of a model under models. Default: default."`
	Prompt      string          `json:"prompt,omitempty" example:"You approve payments." jsonschema:"Who the agent is and what it should do."`
	Tools       []string        `json:"tools,omitempty" noun:"a tool" each:"its name" example:"['covia:read', 'json:*']" jsonschema:"Operations that the agent may ask for, within its capabilities: names (covia:read), all of an adapter (json:*), or orchestrations (o/pipeline)."`
	Context     []ContextEntry  `json:"context,omitempty" example:"[{'path': 'w/docs/policy', 'label': 'Policy'}]" jsonschema:"Material that the agent has before it at each turn."`
	Output      json.RawMessage `json:"output,omitempty" kind:"object" want:"a JSON Schema" example:"{'type': 'object'}" jsonschema:"JSON Schema of the agent's answers."`
	Authority   string          `json:"authority,omitempty" enum:"caller|own" want:"caller (bounded by whoever asks) or own" example:"caller" jsonschema:"caller: what it does for another agent is bounded by that agent's capabilities too (default). own: it uses its own for whoever may ask."`
	Identity    string          `json:"identity,omitempty" enum:"owner|own" want:"owner (it acts as its owner) or own (by a key of its own)" example:"own" jsonschema:"owner: it acts as its owner (default). own: it acts by a key and DID of its own, in a namespace of its own, and elsewhere by what is delegated to it."`
	Caps        caps.Declared   `json:"caps,omitzero" example:"[{'with': 'w/', 'can': 'crud/read'}]" jsonschema:"What the agent may do. [] is nothing; left out, what its creator or its parent may; null is everything."`
	Parent      string          `json:"parent,omitempty" example:"Dave" jsonschema:"The agent that this one has its authority from: it can do at most what the parent can at that moment."`
	Budgets     *Budgets        `json:"budgets,omitempty" form:"budgets" example:"{'run': {'calls': 20, 'money': 0.50}}" jsonschema:"What the agent's model calls may spend, and those of all that it has others do. What is left out has no limit."`
}

// Whom an agent acts as.
const (
	// IdentityOwner: as its owner, in the owner's namespace. The default.
	IdentityOwner = "owner"
	// IdentityOwn: as itself, by a key of its own, in a namespace of its own. In
	// another's it can do what that other has delegated to it.
	IdentityOwn = "own"
)

// AuthorityOwn lets an agent use its own capabilities for whoever may ask. Without
// it the caller's bound it too, so that nobody gets done by asking what they may not
// do.
const AuthorityOwn = "own"

// ContextEntry is material in an agent's context: a text, what a path holds, or
// what an operation answers.
type ContextEntry struct {
	_        struct{}        `noun:"a context entry" example:"{'path': 'w/docs/policy', 'label': 'Policy'}"`
	Path     string          `json:"path,omitempty" example:"w/docs/policy" jsonschema:"What is stored there is read at the start of each turn, with the agent's own capabilities."`
	Text     string          `json:"text,omitempty" example:"Payments run on Fridays." jsonschema:"The material itself."`
	Op       string          `json:"op,omitempty" example:"covia:list" jsonschema:"An operation that is asked at the start of each turn, with the agent's own capabilities: covia:list."`
	Input    json.RawMessage `json:"input,omitempty" kind:"object" want:"the operation's fields" example:"{'path': 'w/inbox'}" jsonschema:"What op is given: {path: w/inbox}."`
	Label    string          `json:"label,omitempty" example:"Policy" jsonschema:"Heading. Default: the path, or the operation."`
	Required bool            `json:"required,omitempty" example:"true" jsonschema:"A turn without it fails. Default: false."`
}

// Check says what is wrong with the entry itself.
func (c *ContextEntry) Check() error {
	given := 0
	for _, source := range []string{c.Path, c.Text, c.Op} {
		if source != "" {
			given++
		}
	}
	if given != 1 {
		return errors.New("a context entry has one of path, text and op: write one of them")
	}
	if strings.HasSuffix(c.Op, ":*") {
		return form.In("op", fmt.Errorf("op %s means several operations: name one", c.Op))
	}
	if c.Path != "" {
		if _, err := caps.ParseResource(c.Path); err != nil {
			return form.In("path", err)
		}
	}
	if len(c.Input) > 0 && c.Op == "" {
		return form.In("input", errors.New("input is for op: remove it, or name the operation"))
	}
	return nil
}

// Refine adds the rules of Check that a schema can say.
func (*ContextEntry) Refine(s *jsonschema.Schema) {
	s.OneOf = form.OneOf("path", "text", "op")
	s.DependentRequired = map[string][]string{"input": {"op"}}
}

// Created answers agent:create and agent:fork.
type Created struct {
	AgentID    string `json:"agentId"`
	Status     string `json:"status"`
	Created    bool   `json:"created"`
	Updated    bool   `json:"updated"`
	ForkedFrom string `json:"forkedFrom,omitempty"`
}

// State answers agent:update, suspend and resume.
type State struct {
	AgentID string `json:"agentId"`
	Status  string `json:"status"`
}

// Deleted answers agent:delete.
type Deleted struct {
	AgentID string `json:"agentId"`
	Status  string `json:"status"`
	Removed bool   `json:"removed"`
}

// Adopted answers agent:adopt.
type Adopted struct {
	AgentID string `json:"agentId,omitempty"`
	Path    string `json:"path,omitempty"`
	Adopted bool   `json:"adopted"`
}

// Info answers agent:info.
type Info struct {
	AgentID  string       `json:"agentId"`
	Status   string       `json:"status"`
	DID      string       `json:"did"` // whom it acts as
	Config   Spec         `json:"config"`
	Caps     caps.Set     `json:"effectiveCaps"` // after every creator above it; null is unrestricted
	Creators []string     `json:"creators,omitempty"`
	Lost     []Giver      `json:"lost,omitempty"`    // those above it that give nothing now: with one of them it may do nothing
	Budgets  []Budget     `json:"budgets,omitempty"` // that bind it: its own, and those of the agents above it
	Spent    spend.Amount `json:"spent"`             // since it was made
	Sessions int          `json:"sessions"`
	Inbox    int          `json:"inbox"`
	Created  int64        `json:"created"` // ms
	Updated  int64        `json:"updated"` // ms
}

// Giver is an agent that another has its capabilities from.
type Giver struct {
	AgentID string `json:"agentId"`
	Status  string `json:"status"` // of a life that is no more: [Terminated]
}

// Summary is an agent in agent:list.
type Summary struct {
	AgentID     string `json:"agentId"`
	Status      string `json:"status"`
	Description string `json:"description,omitempty"`
}

// MaxPage is the most agents that a page of agent:list has.
const MaxPage = 1000

// Query asks for a page of agents.
type Query struct {
	IncludeTerminated bool   `json:"includeTerminated,omitempty"`
	Limit             int    `json:"limit,omitempty" jsonschema:"the most agents to return: 1 to 1000, left out 100"`
	Cursor            string `json:"cursor,omitempty" jsonschema:"where to go on: the cursor that the page before returned"`
}

// Listing is a page of agents: fewer than were asked for where some have ended.
type Listing struct {
	Agents []Summary `json:"agents"`
	Cursor string    `json:"cursor,omitempty"` // of the next page; empty when nothing follows
}

// Task asks an agent to work and answer.
type Task struct {
	Agent   string
	Input   json.RawMessage
	Output  json.RawMessage // JSON Schema of the answer; nil is the agent's own
	Session string          // empty is a new one
	Timeout time.Duration   // how long the caller waits; 0 is until the task is done
	Budget  spend.Limits    // what it may spend of what the caller has left; the zero value is all of it
}

// Answer is what came of a [Task]: its job, complete or still running.
type Answer struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	AgentID   string          `json:"agentId"`
	SessionID string          `json:"sessionId"`
	Output    json.RawMessage `json:"output,omitempty"`
}

// Delivered answers agent:message.
type Delivered struct {
	AgentID   string `json:"agentId"`
	SessionID string `json:"sessionId"`
	Delivered bool   `json:"delivered"`
}

// Service is what the operations need of a venue. Every method acts in the
// namespace of call.Owner() alone.
type Service interface {
	Create(ctx context.Context, call tools.Call, spec Spec, overwrite bool) (Created, error)
	Fork(ctx context.Context, call tools.Call, source string, spec Spec, history, overwrite bool) (Created, error)
	Update(ctx context.Context, call tools.Call, spec Spec) (State, error)
	Delete(ctx context.Context, call tools.Call, id string, remove bool) (Deleted, error)
	SetSuspended(ctx context.Context, call tools.Call, id string, suspended bool) (State, error)
	// Adopt puts an agent that others created, or the program at a path below o/
	// that others wrote, below its owner. Only the owner in person may.
	Adopt(ctx context.Context, call tools.Call, id string, program caps.Resource) (Adopted, error)
	Info(ctx context.Context, call tools.Call, id string) (Info, error)
	// List returns one page of the agents in the order of their ids.
	List(ctx context.Context, call tools.Call, query Query) (Listing, error)
	Request(ctx context.Context, call tools.Call, task Task) (Answer, error)
	Message(ctx context.Context, call tools.Call, id, session, text string) (Delivered, error)
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// CheckID says what is wrong with an agent's id.
func CheckID(id string) error {
	if !idForm.MatchString(id) {
		return fmt.Errorf("agent id %q: use 1 to 64 letters, digits, '_', '-' or '.', beginning with a letter or digit", id)
	}
	return nil
}

// on is the requirement of an ability on the agent that a field names.
func on(can, field, id string) caps.Request {
	if id == "" {
		return caps.Invalid(errors.New(field + " is missing: name the agent"))
	}
	if err := CheckID(id); err != nil {
		return caps.Invalid(err)
	}
	return caps.Need(can, "g/"+id)
}

// handOn requires the caller to hold what a spec gives.
func handOn(spec *Spec) []caps.Request {
	set, given := spec.Caps.Set()
	if !given {
		return nil
	}
	needs := make([]caps.Request, 0, set.Len())
	for c := range set.All() {
		needs = append(needs, caps.NeedHeld(c))
	}
	return needs
}

// Below is the requirement of putting an agent below another, as whose child it
// spends the other's budgets and keeps it from being removed.
func Below(parent string) caps.Request { return caps.Need("agent/manage", "g/"+parent) }

// within is the reach of an operation on one agent.
func within(can string) tools.Option {
	return tools.Within(caps.ScopeUnder(can, "g", 1, 1))
}
