package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools/spend"
)

// Ref names an agent.
type Ref struct {
	AgentID string `json:"agentId"`
}

func (in Ref) id() string { return in.AgentID }

// Create asks for a new agent.
type Create struct {
	AgentID   string `json:"agentId" jsonschema:"id of the new agent"`
	Config    Spec   `json:"config,omitzero" jsonschema:"what the agent is; caps left out are the creator's"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"replace an agent that has this id"`
}

func (in Create) needs() []caps.Request { return configNeeds("agent/create", in.AgentID, &in.Config) }

// Fork asks for a copy of an agent.
type Fork struct {
	SourceID        string `json:"sourceId" jsonschema:"agent to copy"`
	AgentID         string `json:"agentId" jsonschema:"id of the copy"`
	Config          Spec   `json:"config,omitzero" jsonschema:"what differs from the source"`
	IncludeTimeline bool   `json:"includeTimeline,omitempty" jsonschema:"copy the source's sessions too"`
	Overwrite       bool   `json:"overwrite,omitempty"`
}

func (in Fork) needs() []caps.Request {
	return append([]caps.Request{on("agent/fork", "sourceId", in.SourceID)}, configNeeds("agent/fork", in.AgentID, &in.Config)...)
}

// CreateResult answers [Create] and [Fork].
type CreateResult struct {
	AgentID    string `json:"agentId"`
	Status     string `json:"status"`
	Created    bool   `json:"created"`
	Updated    bool   `json:"updated"`
	ForkedFrom string `json:"forkedFrom,omitempty"`
}

// Update changes the config of an agent.
type Update struct {
	AgentID string `json:"agentId"`
	Config  Spec   `json:"config,omitzero" jsonschema:"the fields to replace"`
}

func (in Update) needs() []caps.Request { return configNeeds("agent/update", in.AgentID, &in.Config) }

// State answers agent:update, suspend and resume.
type State struct {
	AgentID string `json:"agentId"`
	Status  string `json:"status"`
}

// Delete ends an agent.
type Delete struct {
	AgentID string `json:"agentId"`
	Remove  bool   `json:"remove,omitempty" jsonschema:"remove the record too, not only end the agent"`
}

func (in Delete) id() string { return in.AgentID }

// DeleteResult answers [Delete].
type DeleteResult struct {
	AgentID string `json:"agentId"`
	Status  string `json:"status"`
	Removed bool   `json:"removed"`
}

// Adopt names an agent, or a program.
type Adopt struct {
	AgentID string          `json:"agentId,omitempty" jsonschema:"the agent; or give path"`
	Path    caps.Path       `json:"path,omitzero" jsonschema:"the program, below o/; or give agentId"`
	Value   json.RawMessage `json:"value,omitempty" jsonschema:"what was read below path: where something else lies there now, nothing is adopted"`
}

func (in Adopt) needs() []caps.Request {
	program, err := in.Program()
	switch {
	case err != nil:
		return []caps.Request{caps.Invalid(err)}
	case in.AgentID != "":
		return []caps.Request{on("agent/manage", "agentId", in.AgentID)}
	}
	return []caps.Request{caps.NeedOn("crud/write", program)}
}

// Program is the path of a program; the zero resource where an agent is named.
func (in Adopt) Program() (r caps.Resource, err error) {
	path := in.Path.String()
	if (path == "") == (in.AgentID == "") {
		return r, errors.New("give one of agentId and path")
	}
	if path == "" {
		if in.Value != nil {
			return r, errors.New("value is what lies at path: give it with path alone")
		}
		return r, nil
	}
	if r, err = in.Path.Resource(); err != nil {
		return r, err
	}
	if segs := r.Segments(); len(segs) < 2 || segs[0] != "o" {
		return r, fmt.Errorf("%s is no program: programs lie below o/ in your own namespace", r)
	}
	return r, nil
}

// AdoptResult answers [Adopt].
type AdoptResult struct {
	AgentID string `json:"agentId,omitempty"`
	Path    string `json:"path,omitempty"`
	Adopted bool   `json:"adopted"`
}

// Info answers agent:info.
type Info struct {
	AgentID  string         `json:"agentId"`
	Status   string         `json:"status"`
	DID      string         `json:"did"` // whom it acts as
	Config   Spec           `json:"config"`
	Caps     caps.Set       `json:"effectiveCaps"` // after every creator above it; null is unrestricted
	Creators []string       `json:"creators,omitempty"`
	Failing  *FailureStreak `json:"failing,omitempty"` // its last turns, where they failed
	Lost     []Giver        `json:"lost,omitempty"`    // those above it that give nothing now: with one of them it may do nothing
	Budgets  []Budget       `json:"budgets,omitempty"` // that bind it: its own, and those of the agents above it
	Spent    spend.Amount   `json:"spent"`             // since it was made
	Sessions int            `json:"sessions"`
	Inbox    int            `json:"inbox"`
	Created  int64          `json:"created"` // ms
	Updated  int64          `json:"updated"` // ms
}

// FailureStreak is why the last turns of an agent failed, one after another: for its model, or
// for answers that did not fit. So many as its suspend_after says suspend it.
type FailureStreak struct {
	Turns int    `json:"turns"`
	Since int64  `json:"since"` // ms: the first of them
	Error string `json:"error"` // of the last
	Code  string `json:"errorCode"`
}

// Giver is an agent that another has its capabilities from. A life that is no more
// is [Terminated].
type Giver = State

// MaxPage is the most agents that a page of agent:list has.
const MaxPage = 1000

// Query asks for a page of agents.
type Query struct {
	IncludeTerminated bool   `json:"includeTerminated,omitempty"`
	Limit             int    `json:"limit,omitempty" jsonschema:"the most agents to return: 1 to 1000, left out 100"`
	Cursor            string `json:"cursor,omitempty" jsonschema:"where to go on: the cursor that the page before returned"`
}

func (in Query) needs() []caps.Request {
	if in.Limit < 0 || in.Limit > MaxPage {
		return invalid("limit is %d: give 1 to %d, or leave it out", in.Limit, MaxPage)
	}
	if in.Cursor != "" {
		if err := CheckID(in.Cursor); err != nil {
			return invalid("cursor: %w", err)
		}
	}
	return []caps.Request{caps.Need("agent/read", "g")}
}

// Listing is a page of agents: fewer than were asked for where some have ended.
type Listing struct {
	Agents []Summary `json:"agents"`
	Cursor string    `json:"cursor,omitempty"` // of the next page; empty when nothing follows
}

// Summary is an agent in agent:list.
type Summary struct {
	AgentID     string `json:"agentId"`
	Status      string `json:"status"`
	Description string `json:"description,omitempty"`
	Created     int64  `json:"created,omitempty"` // ms
}

// Request asks an agent to work and answer.
type Request struct {
	AgentID        string          `json:"agentId"`
	Input          json.RawMessage `json:"input,omitempty" jsonschema:"the task: an object or a text"`
	Timeout        *int64          `json:"timeout,omitempty" jsonschema:"milliseconds to wait for the answer; left out, until it is there"`
	Wait           json.RawMessage `json:"wait,omitempty" jsonschema:"in place of timeout. true: until the answer is there; false: not at all; or how many milliseconds. The task goes on, and grid:jobResult has its answer"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty" jsonschema:"JSON Schema that the answer must fit"`
	SessionID      string          `json:"sessionId,omitempty"`
	Budget         *spend.Limits   `json:"budget,omitempty" jsonschema:"the most that the task may spend of what you have left: calls of a model, tokens, money, for example {\"calls\": 5, \"money\": 0.10}"`
}

func (in Request) needs() []caps.Request {
	if in.Timeout != nil && (*in.Timeout <= 0 || *in.Timeout > maxWait) {
		return invalid("timeout is %d ms: give a positive number up to %d, or leave it out to wait until the task is done", *in.Timeout, maxWait)
	}
	if _, _, err := Waits(in.Wait); err != nil {
		return invalid("%w", err)
	}
	if in.Timeout != nil && in.Wait != nil {
		return invalid("timeout and wait are both given: give one of them")
	}
	return []caps.Request{on("agent/request", "agentId", in.AgentID)}
}

// Waits is how long the caller waits: to the end, or at most so long.
func (in Request) Waits() (bounded bool, most time.Duration) {
	if in.Timeout != nil {
		return true, time.Duration(*in.Timeout) * time.Millisecond
	}
	bounded, most, _ = Waits(in.Wait) // needs has refused what is wrong
	return bounded, most
}

// Answer is what came of a [Request]: its job, complete or still running.
type Answer struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	AgentID   string          `json:"agentId"`
	SessionID string          `json:"sessionId"`
	Output    json.RawMessage `json:"output,omitempty"`
}

// MaxMessage bounds a message that is left for an agent, in bytes.
const MaxMessage = 16 << 10

// Message leaves a text for an agent.
type Message struct {
	AgentID   string `json:"agentId"`
	Message   string `json:"message"`
	SessionID string `json:"sessionId,omitempty"`
}

func (in Message) needs() []caps.Request {
	if in.Message == "" {
		return invalid("message is empty: say something")
	}
	if len(in.Message) > MaxMessage {
		return invalid("message has %d bytes, at most %d: write it to the workspace, and say where", len(in.Message), MaxMessage)
	}
	return []caps.Request{on("agent/message", "agentId", in.AgentID)}
}

// MessageResult answers [Message].
type MessageResult struct {
	AgentID   string `json:"agentId"`
	SessionID string `json:"sessionId"`
	Delivered bool   `json:"delivered"`
}
