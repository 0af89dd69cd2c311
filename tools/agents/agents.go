// Package agents has the operations that make agents, talk to them and manage
// them: agent:create, request, chat, message, trigger, cancelTask, info, context, list,
// update, delete, fork, suspend, resume and adopt, and those by which an agent ends its
// task, completeTask and failTask. [Operations] returns them over a [Service], which the
// venue has.
//
// Handing on capabilities is a requirement like any other: to give an agent
// {with, can}, the caller must hold it. So the gate itself refuses a child that
// would be wider than its creator.
package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/form"
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
	_            struct{}         `noun:"an agent" text:"true" example:"{'id': 'Carol', 'prompt': '…', 'tools': ['covia:read'], 'caps': [{'with': 'w/', 'can': 'crud/read'}]}"`
	ID           string           `json:"id,omitempty" example:"Carol" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" jsonschema:"Name of the agent, kept at g/<id>."`
	Description  string           `json:"description,omitempty" example:"Approves payments." jsonschema:"What the agent is for, as others are told."`
	Model        string           `json:"model,omitempty" example:"default" jsonschema:"Name of a model under models. Default: default."`
	Prompt       string           `json:"prompt,omitempty" example:"You approve payments." jsonschema:"Who the agent is and what it should do."`
	Tools        []string         `json:"tools,omitempty" noun:"a tool" each:"its name" example:"['covia:read', 'json:*']" jsonschema:"Operations that the agent may ask for, within its capabilities: names (covia:read), all of an adapter (json:*), or orchestrations (o/pipeline)."`
	Context      []ContextEntry   `json:"context,omitempty" example:"[{'path': 'w/docs/policy', 'label': 'Policy'}]" jsonschema:"Material that the agent has before it at each turn."`
	Output       json.RawMessage  `json:"output,omitempty" kind:"object" want:"a JSON Schema" example:"{'type': 'object'}" jsonschema:"JSON Schema of the agent's answers."`
	Authority    string           `json:"authority,omitempty" enum:"caller|own" want:"caller (bounded by whoever asks) or own" example:"caller" jsonschema:"caller: what it does for another agent is bounded by that agent's capabilities too (default). own: it uses its own for whoever may ask."`
	Identity     string           `json:"identity,omitempty" enum:"owner|own" want:"owner (it acts as its owner) or own (by a key of its own)" example:"own" jsonschema:"owner: it acts as its owner (default). own: it acts by a key and DID of its own, in a namespace of its own, and elsewhere by what is delegated to it."`
	Caps         caps.Declaration `json:"caps,omitzero" example:"[{'with': 'w/', 'can': 'crud/read'}]" jsonschema:"What the agent may do. [] is nothing; left out, what its creator or its parent may; null is everything."`
	Parent       string           `json:"parent,omitempty" example:"Dave" jsonschema:"The agent that this one has its authority from: it can do at most what the parent can at that moment."`
	Ask          *bool            `json:"ask_for_capability,omitempty" example:"true" jsonschema:"true: what the agent's capabilities deny, its owner is asked for, for the task at hand alone. Default: false."`
	Budgets      *Budgets         `json:"budgets,omitempty" form:"budgets" example:"{'run': {'calls': 20, 'money': 0.50}}" jsonschema:"What the agent's model calls may spend, and those of all that it has others do. What is left out has no limit."`
	SuspendAfter *int             `json:"suspend_after,omitempty" min:"0" example:"3" jsonschema:"Turns that may fail one after another, for its model or an answer that does not fit output, before the agent is suspended; 0 is any number. Default: 3."`
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

var idForm = value.Form(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// VisitorMark begins what stands for the id of an agent that came in from elsewhere: no agent
// of the venue has such an id.
const VisitorMark = "visitor:"

// CheckID says what is wrong with an agent's id.
func CheckID(id string) error {
	if !idForm().MatchString(id) {
		return fmt.Errorf("agent id %q: use 1 to 64 letters, digits, '_', '-' or '.', beginning with a letter or digit", id)
	}
	return nil
}

// maxConfig bounds a config, in bytes: more is not stored in one piece, and would
// cost much to read before it is known who may write it.
const maxConfig = 1 << 20

// UnmarshalJSON reads strictly: a key that is not understood could be a bound
// that is then not enforced. Null is nothing written.
func (s *Spec) UnmarshalJSON(data []byte) error {
	*s = Spec{}
	if string(data) == "null" {
		return nil
	}
	if len(data) > maxConfig {
		return fmt.Errorf("config has %d bytes, at most %d: write long texts to the workspace, and name them under context", len(data), maxConfig)
	}
	if err := form.Unmarshal(data, s); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	return nil
}

// MaxFailures is how many turns may fail one after another before the agent is
// suspended; 0 is any number.
func (s *Spec) MaxFailures() int {
	if s.SuspendAfter == nil {
		return 3
	}
	return *s.SuspendAfter
}

// Check says what is wrong with the spec itself.
func (s *Spec) Check() error {
	for key, id := range map[string]string{"id": s.ID, "parent": s.Parent} {
		if id != "" {
			if err := CheckID(id); err != nil {
				return form.In(key, err)
			}
		}
	}
	return nil
}
