package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/spend"
)

// Operations returns the agent operations over s.
func Operations(s Service) []*tools.Operation {
	return append(manage(s), talk(s)...)
}

type createInput struct {
	AgentID   string          `json:"agentId" jsonschema:"id of the new agent"`
	Config    json.RawMessage `json:"config,omitempty" jsonschema:"prompt, model, tools, context, output, caps and budgets; caps left out are the creator's"`
	Overwrite bool            `json:"overwrite,omitempty" jsonschema:"replace an agent that has this id"`
}

type forkInput struct {
	SourceID        string          `json:"sourceId" jsonschema:"agent to copy"`
	AgentID         string          `json:"agentId" jsonschema:"id of the copy"`
	Config          json.RawMessage `json:"config,omitempty" jsonschema:"what differs from the source"`
	IncludeTimeline bool            `json:"includeTimeline,omitempty" jsonschema:"copy the source's sessions too"`
	Overwrite       bool            `json:"overwrite,omitempty"`
}

type updateInput struct {
	AgentID string          `json:"agentId"`
	Config  json.RawMessage `json:"config,omitempty" jsonschema:"the fields to replace"`
}

type deleteInput struct {
	AgentID string `json:"agentId"`
	Remove  bool   `json:"remove,omitempty" jsonschema:"remove the record too, not only end the agent"`
}

type agentInput struct {
	AgentID string `json:"agentId"`
}

type listInput struct {
	IncludeTerminated bool `json:"includeTerminated,omitempty"`
}

type listOutput struct {
	Agents []Summary `json:"agents"`
}

// configured are the needs of a call that writes a config: the ability on the
// agent, everything that the config hands on, and what the parent has to say.
func configured(base caps.Request, id string, config json.RawMessage) []caps.Request {
	if base.Err() != nil {
		return []caps.Request{base}
	}
	spec, err := decodeSpec(id, config)
	if err != nil {
		return []caps.Request{caps.Invalid(err)}
	}
	needs := append([]caps.Request{base}, handOn(&spec)...)
	if spec.Parent != "" {
		needs = append(needs, Below(spec.Parent))
	}
	return needs
}

func manage(s Service) []*tools.Operation {
	return []*tools.Operation{
		tools.New("agent:create", "Create an agent. Its capabilities can be at most your own.",
			func(in createInput) []caps.Request {
				return configured(on("agent/create", "agentId", in.AgentID), in.AgentID, in.Config)
			},
			func(ctx context.Context, call tools.Call, in createInput) (Created, error) {
				spec, err := decodeSpec(in.AgentID, in.Config)
				if err != nil {
					return Created{}, err
				}
				return s.Create(ctx, call, spec, in.Overwrite)
			}, within("agent/create"), tools.Exclusive()),

		tools.New("agent:fork", "Copy an agent under a new id. Its capabilities can be at most your own.",
			func(in forkInput) []caps.Request {
				return append([]caps.Request{on("agent/fork", "sourceId", in.SourceID)},
					configured(on("agent/fork", "agentId", in.AgentID), in.AgentID, in.Config)...)
			},
			func(ctx context.Context, call tools.Call, in forkInput) (Created, error) {
				spec, err := decodeSpec(in.AgentID, in.Config)
				if err != nil {
					return Created{}, err
				}
				return s.Fork(ctx, call, in.SourceID, spec, in.IncludeTimeline, in.Overwrite)
			}, within("agent/fork"), tools.Exclusive()),

		tools.New("agent:update", "Replace fields of an agent's config. What it holds afterwards can be at most what you hold.",
			func(in updateInput) []caps.Request {
				return configured(on("agent/update", "agentId", in.AgentID), in.AgentID, in.Config)
			},
			func(ctx context.Context, call tools.Call, in updateInput) (State, error) {
				spec, err := decodeSpec(in.AgentID, in.Config)
				if err != nil {
					return State{}, err
				}
				return s.Update(ctx, call, spec)
			}, within("agent/update"), tools.Idempotent(), tools.Exclusive()),

		tools.New("agent:delete", "End an agent; with remove, its record too.",
			func(in deleteInput) []caps.Request {
				return []caps.Request{on("agent/delete", "agentId", in.AgentID)}
			},
			func(ctx context.Context, call tools.Call, in deleteInput) (Deleted, error) {
				return s.Delete(ctx, call, in.AgentID, in.Remove)
			}, within("agent/delete"), tools.Idempotent(), tools.Exclusive()),

		tools.New("agent:suspend", "Suspend an agent: it takes no work until it is resumed.",
			func(in agentInput) []caps.Request {
				return []caps.Request{on("agent/manage", "agentId", in.AgentID)}
			},
			func(ctx context.Context, call tools.Call, in agentInput) (State, error) {
				return s.SetSuspended(ctx, call, in.AgentID, true)
			}, within("agent/manage"), tools.Idempotent(), tools.Exclusive()),

		tools.New("agent:resume", "Resume a suspended agent.",
			func(in agentInput) []caps.Request {
				return []caps.Request{on("agent/manage", "agentId", in.AgentID)}
			},
			func(ctx context.Context, call tools.Call, in agentInput) (State, error) {
				return s.SetSuspended(ctx, call, in.AgentID, false)
			}, within("agent/manage"), tools.Idempotent(), tools.Exclusive()),

		tools.New("agent:info", "Show an agent: status, config and effective capabilities.",
			func(in agentInput) []caps.Request {
				return []caps.Request{on("agent/read", "agentId", in.AgentID)}
			},
			func(ctx context.Context, call tools.Call, in agentInput) (Info, error) {
				return s.Info(ctx, call, in.AgentID)
			}, within("agent/read"), tools.ReadOnly()),

		tools.New("agent:list", "List the agents.",
			func(listInput) []caps.Request { return []caps.Request{caps.Need("agent/read", "g")} },
			func(ctx context.Context, call tools.Call, in listInput) (listOutput, error) {
				list, err := s.List(ctx, call, in.IncludeTerminated)
				return listOutput{list}, err
			}, tools.Within(caps.ScopeExactly("agent/read", "g")), tools.ReadOnly()),
	}
}

type requestInput struct {
	AgentID        string          `json:"agentId"`
	Input          json.RawMessage `json:"input,omitempty" jsonschema:"the task: an object or a text"`
	Timeout        *int64          `json:"timeout,omitempty" jsonschema:"milliseconds to wait for the answer; left out, until it is there"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty" jsonschema:"JSON Schema that the answer must fit"`
	SessionID      string          `json:"sessionId,omitempty"`
	Budget         json.RawMessage `json:"budget,omitempty" jsonschema:"the most that the task may spend of what you have left: calls of a model, tokens, money, for example {\"calls\": 5, \"money\": 0.10}"`
}

// MaxMessage bounds a message that is left for an agent, in bytes.
const MaxMessage = 16 << 10

type messageInput struct {
	AgentID   string `json:"agentId"`
	Message   string `json:"message"`
	SessionID string `json:"sessionId,omitempty"`
}

// budget is what the task may spend; null is as good as nothing, as models
// write what they leave out.
func (in requestInput) budget() (l spend.Limits, err error) {
	if len(in.Budget) == 0 || string(in.Budget) == "null" {
		return l, nil
	}
	if err := json.Unmarshal(in.Budget, &l); err != nil {
		return l, fmt.Errorf("budget: %w", err)
	}
	return l, nil
}

// sessionLane is the session that a task goes on in. Tasks without one get a
// session each.
func sessionLane(input json.RawMessage) string {
	var in requestInput
	if json.Unmarshal(input, &in) != nil || in.SessionID == "" {
		return ""
	}
	return "g/" + in.AgentID + "/" + in.SessionID
}

func talk(s Service) []*tools.Operation {
	return []*tools.Operation{
		tools.New("agent:request", "Give an agent a task and wait for its answer.",
			func(in requestInput) []caps.Request {
				if _, err := in.budget(); err != nil {
					return []caps.Request{caps.Invalid(err)}
				}
				return []caps.Request{on("agent/request", "agentId", in.AgentID)}
			},
			func(ctx context.Context, call tools.Call, in requestInput) (Answer, error) {
				task := Task{Agent: in.AgentID, Input: in.Input, Output: in.ResponseSchema, Session: in.SessionID}
				if in.Timeout != nil {
					if *in.Timeout <= 0 {
						return Answer{}, fmt.Errorf("timeout is %d ms: give a positive number, or leave it out to wait until the task is done", *in.Timeout)
					}
					task.Timeout = time.Duration(*in.Timeout) * time.Millisecond
				}
				var err error
				if task.Budget, err = in.budget(); err != nil {
					return Answer{}, err
				}
				return s.Request(ctx, call, task)
			}, within("agent/request"), tools.InLane(sessionLane)),

		tools.New("agent:message", "Leave a message for an agent. It hears it at its next turn.",
			func(in messageInput) []caps.Request {
				return []caps.Request{on("agent/message", "agentId", in.AgentID)}
			},
			func(ctx context.Context, call tools.Call, in messageInput) (Delivered, error) {
				if in.Message == "" {
					return Delivered{}, errors.New("message is empty: say something")
				}
				if len(in.Message) > MaxMessage {
					return Delivered{}, fmt.Errorf("message has %d bytes, at most %d: write it to the workspace, and say where", len(in.Message), MaxMessage)
				}
				return s.Message(ctx, call, in.AgentID, in.SessionID, in.Message)
			}, within("agent/message")),
	}
}

// decodeSpec reads a config strictly: a key that is not understood could be a
// bound that is then not enforced.
func decodeSpec(id string, config json.RawMessage) (Spec, error) {
	var spec Spec
	config = bytes.TrimSpace(config)
	if len(config) == 0 || string(config) == "null" {
		spec.ID = id
		return spec, nil
	}
	if config[0] == '"' {
		var text string
		if err := json.Unmarshal(config, &text); err != nil {
			return Spec{}, fmt.Errorf("config: %w", err)
		}
		config = json.RawMessage(text)
	}
	if len(config) == 0 || config[0] != '{' {
		return Spec{}, errors.New(`config is not an object: write for example {"prompt": "…", "tools": ["covia:read"], "caps": [{"with": "w/", "can": "crud/read"}]}`)
	}
	if err := tools.CheckKeys(config, specKeys); err != nil {
		return Spec{}, fmt.Errorf("config: %w", err)
	}
	var written struct{ Budgets json.RawMessage }
	if err := json.Unmarshal(config, &written); err != nil {
		return Spec{}, fmt.Errorf("config: %w", err)
	}
	if string(written.Budgets) == "null" {
		return Spec{}, errors.New("config: budgets is null: write {} for none, or leave it out to keep what they are")
	}
	if err := json.Unmarshal(config, &spec); err != nil {
		return Spec{}, fmt.Errorf("config: %w", err)
	}
	if spec.ID != "" && spec.ID != id {
		return Spec{}, fmt.Errorf("config: id %q is not agentId %q: leave it out", spec.ID, id)
	}
	spec.ID = id
	return spec, spec.Check()
}

var specKeys = []string{"id", "description", "model", "prompt", "tools", "context", "output", "caps", "authority", "identity", "parent", "budgets"}

// Check says what is wrong with the spec itself.
func (s *Spec) Check() error {
	if err := CheckID(s.ID); err != nil {
		return err
	}
	switch s.Authority {
	case "", AuthorityCaller, AuthorityOwn:
	default:
		return fmt.Errorf("authority %q: write caller (bounded by whoever asks) or own", s.Authority)
	}
	switch s.Identity {
	case "", IdentityOwner, IdentityOwn:
	default:
		return fmt.Errorf("identity %q: write owner (it acts as its owner) or own (by a key of its own)", s.Identity)
	}
	if s.Parent != "" {
		if err := CheckID(s.Parent); err != nil {
			return fmt.Errorf("parent: %w", err)
		}
	}
	for i, c := range s.Context {
		if err := c.Check(); err != nil {
			return fmt.Errorf("context[%d]: %w", i, err)
		}
	}
	return nil
}
