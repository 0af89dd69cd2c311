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

	"usher/caps"
	"usher/tools"
	"usher/tools/spend"
)

// Statuses of an agent.
const (
	Sleeping   = "SLEEPING"
	Running    = "RUNNING"
	Suspended  = "SUSPENDED"
	Terminated = "TERMINATED"
)

// Spec is what a person or an agent writes to define an agent.
type Spec struct {
	ID          string          `json:"id,omitempty"`
	Description string          `json:"description,omitempty"`
	Model       string          `json:"model,omitempty"`   // name of a model of the venue; empty is "default"
	Prompt      string          `json:"prompt,omitempty"`  // who it is and what it should do
	Tools       []string        `json:"tools,omitempty"`   // operations: names, catalogue paths, paths below o/, or adapter:*
	Context     []ContextEntry  `json:"context,omitempty"` // material read at the start of each turn
	Output      json.RawMessage `json:"output,omitempty"`  // JSON Schema of its answers
	Caps        caps.Declared   `json:"caps,omitzero"`
	Authority   string          `json:"authority,omitempty"` // AuthorityCaller or AuthorityOwn
	Identity    string          `json:"identity,omitempty"`  // IdentityOwner or IdentityOwn
	Parent      string          `json:"parent,omitempty"`    // agent that bounds it, beside whoever creates it
	Budgets     *Budgets        `json:"budgets,omitempty"`   // nil is none, and in a change: as they are
}

// Whom an agent acts as.
const (
	// IdentityOwner: as its owner, in the owner's namespace. The default.
	IdentityOwner = "owner"
	// IdentityOwn: as itself, by a key of its own, in a namespace of its own. In
	// another's it can do what that other has delegated to it.
	IdentityOwn = "own"
)

// What an agent may do when another agent asks it to work.
const (
	// AuthorityCaller bounds the agent by the caller's capabilities too: the
	// default, so that nobody gets done by asking what they may not do.
	AuthorityCaller = "caller"
	// AuthorityOwn lets the agent use its own capabilities for whoever may ask.
	AuthorityOwn = "own"
)

// ContextEntry is material in an agent's context: a text, what a path holds, or
// what an operation answers.
type ContextEntry struct {
	Path     string          `json:"path,omitempty"`
	Text     string          `json:"text,omitempty"`
	Op       string          `json:"op,omitempty"`    // any reference that the agent may resolve
	Input    json.RawMessage `json:"input,omitempty"` // of Op: an object
	Label    string          `json:"label,omitempty"`
	Required bool            `json:"required,omitempty"`
}

// UnmarshalJSON refuses fields that it does not know.
func (c *ContextEntry) UnmarshalJSON(raw []byte) error {
	if err := tools.CheckKeys(raw, []string{"path", "text", "op", "input", "label", "required"}); err != nil {
		return fmt.Errorf("context: %w", err)
	}
	type plain ContextEntry
	return json.Unmarshal(raw, (*plain)(c))
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
		return errors.New("give one of path, text and op")
	}
	if strings.HasSuffix(c.Op, ":*") {
		return fmt.Errorf("op %s means several operations: name one", c.Op)
	}
	if c.Path != "" {
		if _, err := caps.ParseResource(c.Path); err != nil {
			return err
		}
	}
	var object map[string]json.RawMessage
	switch {
	case len(c.Input) == 0:
	case c.Op == "":
		return errors.New("input is for op: remove it, or name the operation")
	case json.Unmarshal(c.Input, &object) != nil || object == nil:
		return errors.New("input is not an object: write the operation's fields")
	}
	return nil
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

// Info answers agent:info.
type Info struct {
	AgentID  string       `json:"agentId"`
	Status   string       `json:"status"`
	DID      string       `json:"did"` // whom it acts as
	Config   Spec         `json:"config"`
	Caps     caps.Set     `json:"effectiveCaps"` // after every creator above it; null is unrestricted
	Creators []string     `json:"creators,omitempty"`
	Budgets  []Budget     `json:"budgets,omitempty"` // that bind it: its own, and those of the agents above it
	Spent    spend.Amount `json:"spent"`             // since it was made
	Sessions int          `json:"sessions"`
	Inbox    int          `json:"inbox"`
	Created  int64        `json:"created"` // ms
	Updated  int64        `json:"updated"` // ms
}

// Summary is an agent in agent:list.
type Summary struct {
	AgentID     string `json:"agentId"`
	Status      string `json:"status"`
	Description string `json:"description,omitempty"`
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
	Info(ctx context.Context, call tools.Call, id string) (Info, error)
	List(ctx context.Context, call tools.Call, terminated bool) ([]Summary, error)
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
