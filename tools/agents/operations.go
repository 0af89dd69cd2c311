package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/form"
	"usher/tools/spend"
)

// Operations returns the agent operations over s.
func Operations(s Service) []*tools.Operation {
	return append(manage(s), talk(s)...)
}

type createInput struct {
	AgentID   string `json:"agentId" jsonschema:"id of the new agent"`
	Config    Spec   `json:"config,omitzero" jsonschema:"what the agent is; caps left out are the creator's"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"replace an agent that has this id"`
}

type forkInput struct {
	SourceID        string `json:"sourceId" jsonschema:"agent to copy"`
	AgentID         string `json:"agentId" jsonschema:"id of the copy"`
	Config          Spec   `json:"config,omitzero" jsonschema:"what differs from the source"`
	IncludeTimeline bool   `json:"includeTimeline,omitempty" jsonschema:"copy the source's sessions too"`
	Overwrite       bool   `json:"overwrite,omitempty"`
}

type updateInput struct {
	AgentID string `json:"agentId"`
	Config  Spec   `json:"config,omitzero" jsonschema:"the fields to replace"`
}

type deleteInput struct {
	AgentID string `json:"agentId"`
	Remove  bool   `json:"remove,omitempty" jsonschema:"remove the record too, not only end the agent"`
}

const usualPage = 100

type agentInput struct {
	AgentID string `json:"agentId"`
}

// configured are the needs of a call that writes a config: the ability on the
// agent, everything that the config hands on, and what the parent has to say.
func configured(base caps.Request, id string, config *Spec) []caps.Request {
	if base.Err() != nil {
		return []caps.Request{base}
	}
	if config.ID != "" && config.ID != id {
		return []caps.Request{caps.Invalid(fmt.Errorf("config: id %q is not agentId %q: leave it out", config.ID, id))}
	}
	needs := append([]caps.Request{base}, handOn(config)...)
	if config.Parent != "" {
		needs = append(needs, Below(config.Parent))
	}
	return needs
}

// of is the config of the agent that the call names.
func (s Spec) of(id string) Spec {
	s.ID = id
	return s
}

func manage(s Service) []*tools.Operation {
	return []*tools.Operation{
		tools.New("agent:create", "Create an agent. Its capabilities can be at most your own.",
			func(in createInput) []caps.Request {
				return configured(on("agent/create", "agentId", in.AgentID), in.AgentID, &in.Config)
			},
			func(ctx context.Context, call tools.Call, in createInput) (Created, error) {
				return s.Create(ctx, call, in.Config.of(in.AgentID), in.Overwrite)
			}, within("agent/create"), tools.Exclusive()),

		tools.New("agent:fork", "Copy an agent under a new id. Its capabilities can be at most your own.",
			func(in forkInput) []caps.Request {
				return append([]caps.Request{on("agent/fork", "sourceId", in.SourceID)},
					configured(on("agent/fork", "agentId", in.AgentID), in.AgentID, &in.Config)...)
			},
			func(ctx context.Context, call tools.Call, in forkInput) (Created, error) {
				return s.Fork(ctx, call, in.SourceID, in.Config.of(in.AgentID), in.IncludeTimeline, in.Overwrite)
			}, within("agent/fork"), tools.Exclusive()),

		tools.New("agent:update", "Replace fields of an agent's config. What it holds afterwards can be at most what you hold.",
			func(in updateInput) []caps.Request {
				return configured(on("agent/update", "agentId", in.AgentID), in.AgentID, &in.Config)
			},
			func(ctx context.Context, call tools.Call, in updateInput) (State, error) {
				return s.Update(ctx, call, in.Config.of(in.AgentID))
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

		tools.New("agent:adopt", "Put an agent that others created, or a program below o/ that others wrote, below its owner, so that it works when they are suspended or ended. Only the owner in person may.",
			adoptInput.needs,
			func(ctx context.Context, call tools.Call, in adoptInput) (Adopted, error) {
				program, err := in.program()
				if err != nil {
					return Adopted{}, err
				}
				if program = program.In(call.Owner().String()); program.DID() != "" {
					return Adopted{}, notProgram(program)
				}
				return s.Adopt(ctx, call, in.AgentID, program)
			}, tools.Within(caps.ScopeUnder("agent/manage", "g", 1, 1), caps.ScopeUnder("crud/write", "o", 1, 0)), tools.Idempotent(), tools.Exclusive()),

		tools.New("agent:info", "Show an agent: status, config and effective capabilities.",
			func(in agentInput) []caps.Request {
				return []caps.Request{on("agent/read", "agentId", in.AgentID)}
			},
			func(ctx context.Context, call tools.Call, in agentInput) (Info, error) {
				return s.Info(ctx, call, in.AgentID)
			}, within("agent/read"), tools.ReadOnly()),

		tools.New("agent:list", "List the agents, a page at a time: where a cursor is returned, there are more.",
			func(Query) []caps.Request { return []caps.Request{caps.Need("agent/read", "g")} },
			func(ctx context.Context, call tools.Call, in Query) (Listing, error) {
				if in.Limit < 0 || in.Limit > MaxPage {
					return Listing{}, fmt.Errorf("limit is %d: give 1 to %d, or leave it out for %d", in.Limit, MaxPage, usualPage)
				}
				if in.Limit == 0 {
					in.Limit = usualPage
				}
				if in.Cursor != "" {
					if err := CheckID(in.Cursor); err != nil {
						return Listing{}, fmt.Errorf("cursor: %w", err)
					}
				}
				return s.List(ctx, call, in)
			}, tools.Within(caps.ScopeExactly("agent/read", "g")), tools.ReadOnly()),
	}
}

type adoptInput struct {
	AgentID string    `json:"agentId,omitempty" jsonschema:"the agent; or give path"`
	Path    caps.Path `json:"path,omitzero" jsonschema:"the program, below o/; or give agentId"`
}

func (in adoptInput) needs() []caps.Request {
	program, err := in.program()
	switch {
	case err != nil:
		return []caps.Request{caps.Invalid(err)}
	case in.AgentID != "":
		return []caps.Request{on("agent/manage", "agentId", in.AgentID)}
	}
	return []caps.Request{caps.NeedOn("crud/write", program)}
}

// program is the path of a program; the zero resource where an agent is named.
func (in adoptInput) program() (r caps.Resource, err error) {
	path := in.Path.String()
	if (path == "") == (in.AgentID == "") {
		return r, errors.New("give one of agentId and path")
	}
	if path == "" {
		return r, nil
	}
	if r, err = in.Path.Resource(); err != nil {
		return r, err
	}
	if segs := r.Segments(); len(segs) < 2 || segs[0] != "o" {
		return r, notProgram(r)
	}
	return r, nil
}

func notProgram(r caps.Resource) error {
	return fmt.Errorf("%s is no program: programs lie below o/ in your own namespace", r)
}

type requestInput struct {
	AgentID        string          `json:"agentId"`
	Input          json.RawMessage `json:"input,omitempty" jsonschema:"the task: an object or a text"`
	Timeout        *int64          `json:"timeout,omitempty" jsonschema:"milliseconds to wait for the answer; left out, until it is there"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty" jsonschema:"JSON Schema that the answer must fit"`
	SessionID      string          `json:"sessionId,omitempty"`
	Budget         *spend.Limits   `json:"budget,omitempty" jsonschema:"the most that the task may spend of what you have left: calls of a model, tokens, money, for example {\"calls\": 5, \"money\": 0.10}"`
}

// MaxMessage bounds a message that is left for an agent, in bytes.
const MaxMessage = 16 << 10

type messageInput struct {
	AgentID   string `json:"agentId"`
	Message   string `json:"message"`
	SessionID string `json:"sessionId,omitempty"`
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
				if in.Budget != nil {
					task.Budget = *in.Budget
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
