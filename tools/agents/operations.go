package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/caps"
	"usher/tools"
)

// Service is what the operations do in a venue. Every method acts in the
// namespace of call.Owner() alone.
type Service interface {
	Create(ctx context.Context, call tools.Call, in Create) (CreateResult, error)
	Fork(ctx context.Context, call tools.Call, in Fork) (CreateResult, error)
	Update(ctx context.Context, call tools.Call, in Update) (State, error)
	Delete(ctx context.Context, call tools.Call, in Delete) (DeleteResult, error)
	Suspend(ctx context.Context, call tools.Call, in Ref) (State, error)
	Resume(ctx context.Context, call tools.Call, in Ref) (State, error)
	// Adopt puts an agent that others created, or a program that others wrote,
	// below its owner. Only the owner in person may.
	Adopt(ctx context.Context, call tools.Call, in Adopt) (AdoptResult, error)
	Info(ctx context.Context, call tools.Call, in Ref) (Info, error)
	// List returns one page of the agents in the order of their ids.
	List(ctx context.Context, call tools.Call, in Query) (Listing, error)
	Request(ctx context.Context, call tools.Call, in Request) (Answer, error)
	Message(ctx context.Context, call tools.Call, in Message) (MessageResult, error)
	Chat(ctx context.Context, call tools.Call, in Chat) (ChatResult, error)
	Trigger(ctx context.Context, call tools.Call, in Trigger) (TriggerResult, error)
	Context(ctx context.Context, call tools.Call, in Ref) (Context, error)
	CancelTask(ctx context.Context, call tools.Call, in TaskID) (TaskState, error)
}

// Operations returns the agent operations over s.
func Operations(s Service) []*tools.Operation {
	return append([]*tools.Operation{
		tools.New("agent:create", "Create an agent. Its capabilities can be at most your own.",
			Create.needs, s.Create, within("agent/create"), tools.Exclusive()),
		tools.New("agent:fork", "Copy an agent under a new id. Its capabilities can be at most your own.",
			Fork.needs, s.Fork, within("agent/fork"), tools.Exclusive()),
		tools.New("agent:update", "Replace fields of an agent's config. What it holds afterwards can be at most what you hold.",
			Update.needs, s.Update, within("agent/update"), tools.Idempotent(), tools.Exclusive()),
		tools.New("agent:delete", "End an agent; with remove, its record too.",
			one[Delete]("agent/delete"), s.Delete, within("agent/delete"), tools.Idempotent(), tools.Exclusive()),
		tools.New("agent:suspend", "Suspend an agent: it takes no work until it is resumed.",
			one[Ref]("agent/manage"), s.Suspend, within("agent/manage"), tools.Idempotent(), tools.Exclusive()),
		tools.New("agent:resume", "Resume a suspended agent.",
			one[Ref]("agent/manage"), s.Resume, within("agent/manage"), tools.Idempotent(), tools.Exclusive()),
		tools.New("agent:adopt", "Put an agent that others created, or a program below o/ that others wrote, below its owner, so that it works when they are suspended or ended. Only the owner in person may.",
			Adopt.needs, s.Adopt, tools.Within(caps.ScopeUnder("agent/manage", "g", 1, 1), caps.ScopeUnder("crud/write", "o", 1, 0)), tools.Idempotent(), tools.Exclusive()),
		tools.New("agent:info", "Show an agent: status, config and effective capabilities.",
			one[Ref]("agent/read"), s.Info, within("agent/read"), tools.ReadOnly()),
		tools.New("agent:list", "List the agents, a page at a time: where a cursor is returned, there are more.",
			Query.needs, s.List, tools.Within(caps.ScopeExactly("agent/read", "g")), tools.ReadOnly()),
		tools.New("agent:request", "Give an agent a task and wait for its answer.",
			Request.needs, s.Request, within("agent/request"), tools.InLane(sessionLane), tools.WithKey()),
		tools.New("agent:message", "Leave a message for an agent. It hears it at its next turn.",
			Message.needs, s.Message, within("agent/message")),
	}, tasks(s)...)
}

// within is the reach of an operation on one agent.
func within(can string) tools.Option { return tools.Within(caps.ScopeUnder(can, "g", 1, 1)) }

// one is the needs of an operation on the agent that its input names.
func one[In interface{ id() string }](can string) func(In) []caps.Request {
	return func(in In) []caps.Request { return []caps.Request{on(can, "agentId", in.id())} }
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

// configNeeds are the needs of a call that writes a config: the ability on the
// agent, everything that the config hands on, and what the parent has to say.
func configNeeds(can, id string, config *Spec) []caps.Request {
	base := on(can, "agentId", id)
	if base.Err() != nil {
		return []caps.Request{base}
	}
	if config.ID != "" && config.ID != id {
		return invalid("config: id %q is not agentId %q: leave it out", config.ID, id)
	}
	needs := []caps.Request{base}
	if set, given := config.Caps.Set(); given {
		for c := range set.All() {
			if !c.Denies() { // that takes nothing
				needs = append(needs, caps.NeedHolding(c))
			}
		}
	}
	if config.Parent != "" {
		needs = append(needs, Below(config.Parent))
	}
	return needs
}

// Below is the requirement of putting an agent below another, as whose child it
// spends the other's budgets and keeps it from being removed.
func Below(parent string) caps.Request { return caps.Need("agent/manage", "g/"+parent) }

func invalid(format string, args ...any) []caps.Request {
	return []caps.Request{caps.Invalid(fmt.Errorf(format, args...))}
}

// sessionLane is the session that a task goes on in. Tasks without one get a
// session each.
func sessionLane(input json.RawMessage) string {
	var in Request
	if json.Unmarshal(input, &in) != nil || in.SessionID == "" {
		return ""
	}
	return "g/" + in.AgentID + "/" + in.SessionID
}
