package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
)

// Names of the operations that end a task. An agent is offered them in the turn of a
// task, and they end that one: they do what an answer in text does, so nobody's
// capabilities are asked. Anywhere else they are refused.
const (
	CompleteTask = "agent:completeTask"
	FailTask     = "agent:failTask"
)

// completion ends the task of a turn with a result.
type completion struct {
	Result json.RawMessage `json:"result" jsonschema:"the result of the task: any JSON value"`
}

// failure ends the task of a turn without one.
type failure struct {
	Reason string `json:"reason" jsonschema:"why the task cannot be done"`
}

// errNoTask: a call that would end a task is made where none is.
var errNoTask = fault.New(fault.Refused, "there is no task to end here: only the turn of a task ends it, by a call of its own model")

// ending is an operation that ends a task, where it is called outside of one.
func ending[In any](name, description string) *tools.Operation {
	return tools.New(name, description, func(In) []caps.Request { return []caps.Request{caps.NeedAbility("agent/task")} },
		func(context.Context, tools.Call, In) (json.RawMessage, error) { return nil, errNoTask },
		tools.Within(caps.ScopeAbility("agent/task")))
}

// Chat says something to an agent and waits for its answer.
type Chat struct {
	AgentID   string `json:"agentId"`
	Message   string `json:"message,omitempty" jsonschema:"may be left out where there are answers"`
	SessionID string `json:"sessionId,omitempty" jsonschema:"the session to go on in; left out, a new one"`
	Create    bool   `json:"create,omitempty" jsonschema:"make the session of that id where there is none; left out, that is an error"`

	Tools   []ClientTool   `json:"tools,omitempty" jsonschema:"tools of your own that the agent may ask for in this turn, and that you run"`
	Answers []ClientAnswer `json:"answers,omitempty" jsonschema:"to the calls that the last turn left pending"`
}

func (in Chat) needs() []caps.Request {
	if in.Message == "" && len(in.Answers) == 0 {
		return invalid("message is empty: say something")
	}
	if err := in.checkClient(); err != nil {
		return []caps.Request{caps.Invalid(err)}
	}
	return []caps.Request{on("agent/message", "agentId", in.AgentID)}
}

// ChatResult answers [Chat].
type ChatResult struct {
	AgentID   string          `json:"agentId"`
	SessionID string          `json:"sessionId"`
	Response  json.RawMessage `json:"response"`

	// Pending are the calls of tools that came with [Chat], which the agent waits for.
	Pending []ClientCall `json:"pending,omitempty"`
}

// Trigger has an agent take a turn on the messages that wait in a session.
type Trigger struct {
	AgentID   string          `json:"agentId"`
	SessionID string          `json:"sessionId,omitempty" jsonschema:"left out, the agent's main session, where messages go that name none"`
	Force     *bool           `json:"force,omitempty" jsonschema:"take a turn also where no message waits; left out true"`
	Wait      json.RawMessage `json:"wait,omitempty" jsonschema:"true: wait for the end of the turn; false: not at all; or how many milliseconds; left out true"`
}

func (in Trigger) needs() []caps.Request {
	if _, _, err := Waits(in.Wait); err != nil {
		return invalid("%w", err)
	}
	return []caps.Request{on("agent/manage", "agentId", in.AgentID)}
}

// TriggerResult answers [Trigger]: how things stand, and never what the agent said.
type TriggerResult struct {
	AgentID   string `json:"agentId"`
	SessionID string `json:"sessionId"`
	ID        string `json:"id,omitempty"`     // of the turn; empty where none began
	Status    string `json:"status,omitempty"` // of the turn
}

// Context answers agent:context.
type Context struct {
	AgentID string     `json:"agentId"`
	System  string     `json:"system"` // the system message
	Tools   []ToolView `json:"tools"`
}

// ToolView is a tool that a model is offered.
type ToolView struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"` // JSON Schema
}

// TaskID names a task of an agent.
type TaskID struct {
	AgentID string `json:"agentId"`
	TaskID  string `json:"taskId" jsonschema:"the id that agent:request returned"`
}

func (in TaskID) needs() []caps.Request {
	if _, err := caps.ParseSegments([]string{"j", in.TaskID}); in.TaskID == "" || err != nil {
		return invalid("taskId %.80q is no id of a task: give the one that agent:request returned", in.TaskID)
	}
	return []caps.Request{on("agent/manage", "agentId", in.AgentID)}
}

// TaskState answers agent:cancelTask.
type TaskState struct {
	AgentID string `json:"agentId"`
	ID      string `json:"id"`
	Status  string `json:"status"`
}

// maxWait bounds what is waited for, in milliseconds: a day.
const maxWait = 24 * 60 * 60 * 1000

// Waits reads what an input says of waiting: to the end, where it says nothing or
// true, or so long.
func Waits(raw json.RawMessage) (bounded bool, most time.Duration, err error) {
	switch string(raw) {
	case "", "null", "true":
		return false, 0, nil
	case "false":
		return true, 0, nil
	}
	var ms int64
	if json.Unmarshal(raw, &ms) != nil || ms < 0 || ms > maxWait {
		return false, 0, fmt.Errorf("wait is %.40s: give true, false, or milliseconds from 0 to %d", raw, maxWait)
	}
	return true, time.Duration(ms) * time.Millisecond, nil
}

// tasks are the operations on what agents are asked to do, beside agent:request.
func tasks(s Service) []*tools.Operation {
	return []*tools.Operation{
		tools.New("agent:chat", "Say something to an agent and wait for its answer. A session takes one at a time.",
			Chat.needs, s.Chat, within("agent/message"), tools.InLane(sessionLane), tools.WithKey()),
		tools.New("agent:trigger", "Have an agent take a turn on the messages that wait for it.",
			Trigger.needs, s.Trigger, within("agent/manage"), tools.InLane(sessionLane), tools.WithKey()),
		tools.New("agent:context", "Show what an agent's model would be told now for you: its system message and tools.",
			one[Ref]("agent/read"), s.Context, within("agent/read"), tools.ReadOnly()),
		tools.New("agent:cancelTask", "Cancel a task of an agent that has not ended.",
			TaskID.needs, s.CancelTask, within("agent/manage"), tools.Idempotent(), tools.Exclusive()),
		ending[completion](CompleteTask, "Complete the task that you were given, with its result. It ends your turn."),
		ending[failure](FailTask, "Fail the task that you were given: say why it cannot be done. It ends your turn."),
	}
}
