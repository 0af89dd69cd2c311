package a2a

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/lending"
	"usher/tools/pause"
)

// The abilities.
const (
	canRead    = "a2a/read"
	canSend    = "a2a/send"
	canCancel  = "a2a/cancel"
	canRequest = "a2a/request"
)

// reply is what an agent elsewhere answered.
type reply struct {
	From   string          `json:"from" jsonschema:"whose words these are"`
	Answer json.RawMessage `json:"answer" jsonschema:"as A2A 1.0 has it"`
}

// message is what an agent elsewhere is sent.
type message struct {
	agentAt
	Text         string                         `json:"message" jsonschema:"what it is to do"`
	Task         string                         `json:"taskId,omitempty" jsonschema:"a task of its that the message belongs to"`
	Context      string                         `json:"contextId,omitempty" jsonschema:"a conversation with it"`
	Capabilities []string                       `json:"capabilities,omitempty" jsonschema:"names of capabilities, as a2a:request gave them, that bound the task"`
	Attenuations map[string]lending.Constraints `json:"attenuations,omitempty" jsonschema:"what of them goes with it, by their names"`
	Ambient      bool                           `json:"ambient,omitempty" jsonschema:"say that it works with all that you may there, where it asks for capabilities and none is given"`
	NoWait       bool                           `json:"noWait,omitempty" jsonschema:"return when the task has begun; otherwise it is waited for half a minute"`
}

// taskAt names a task of an agent elsewhere.
type taskAt struct {
	agentAt
	ID string `json:"taskId"`
}

// use uses a skill of an agent elsewhere with a capability.
type use struct {
	agentAt
	Skill      string                     `json:"skill"`
	Capability string                     `json:"capability" jsonschema:"its name, as a2a:request gave it"`
	Arguments  map[string]json.RawMessage `json:"arguments" jsonschema:"resourceHandle, and what else the skill takes"`
}

// Operations returns the operations over the clients of a venue.
func Operations(c *Clients) []*tools.Operation {
	on := func(can string) tools.Option {
		return tools.Within(caps.ScopeUnder(can, "https://", 1, 0), caps.ScopeUnder(can, "http://", 1, 0))
	}
	return []*tools.Operation{
		tools.New("a2a:card", "Read the card of an agent elsewhere: what it is and does.",
			func(in agentAt) []caps.Request { return needs(canRead, in.Agent) }, c.card, on(canRead), tools.ReadOnly()),
		tools.New("a2a:send", "Give an agent elsewhere a task, or more to one. A task that takes long is looked at by a2a:get.",
			func(in message) []caps.Request {
				if in.Text == "" {
					return []caps.Request{caps.Invalid(errors.New("message is missing"))}
				}
				return needs(canSend, in.Agent)
			}, c.send, on(canSend)),
		tools.New("a2a:get", "Look at a task that was given to an agent elsewhere.",
			func(in taskAt) []caps.Request { return needs(canRead, in.Agent) }, c.get, on(canRead), tools.ReadOnly()),
		tools.New("a2a:cancel", "Cancel a task that was given to an agent elsewhere.",
			func(in taskAt) []caps.Request { return needs(canCancel, in.Agent) }, c.cancel, on(canCancel)),
		tools.New("a2a:request", "Ask an agent elsewhere for capabilities for the task at hand, and no more: handles of things, and what may be done with them.",
			func(in request) []caps.Request {
				if (len(in.Grants) == 0) == (len(in.Operations) == 0) {
					return []caps.Request{caps.Invalid(errors.New("give one of operations and grants"))}
				}
				return needs(canRequest, in.Agent)
			}, c.request, on(canRequest)),
		tools.New("a2a:attenuate", "Make a narrower capability of one that an agent elsewhere lent you.",
			func(in attenuation) []caps.Request { return needs(canRequest, in.Agent) }, c.attenuate, on(canRequest)),
		tools.New("a2a:revoke", "End a capability that an agent elsewhere lent you, and all that was made of it.",
			func(in revocation) []caps.Request { return needs(canRequest, in.Agent) }, c.revoke, on(canRequest), tools.Idempotent()),
		tools.New("a2a:use", "Use what an agent elsewhere lent you: a skill of its, on a thing by its handle.",
			func(in use) []caps.Request { return needs(canSend, in.Agent) }, c.use, on(canSend)),
	}
}

func (c *Clients) card(ctx context.Context, call tools.Call, in agentAt) (reply, error) {
	r, err := c.find(ctx, call, in, canRead)
	if err != nil {
		return reply{}, err
	}
	return reply{r.words(), r.card}, nil
}

// Times of waiting for a task.
const (
	patience  = 30 * time.Second
	firstLook = 200 * time.Millisecond // growing by half
)

func (c *Clients) send(ctx context.Context, call tools.Call, in message) (reply, error) {
	r, err := c.find(ctx, call, in.agentAt, canSend)
	if err != nil {
		return reply{}, err
	}
	params, err := c.params(call, r, &in)
	if err != nil {
		return reply{}, err
	}
	raw, err := r.rpc(ctx, "SendMessage", params, len(in.Capabilities) > 0 || in.Ambient)
	if err != nil {
		return reply{}, effectError(err)
	}
	if !in.NoWait {
		raw = r.settle(ctx, raw)
	}
	return reply{r.words(), raw}, nil
}

// params are those of a message. The same call has the same message's id, so that one that
// is made again after a crash can be known there as the same.
func (c *Clients) params(call tools.Call, r *remote, in *message) (map[string]any, error) {
	sum := sha256.Sum256([]byte(call.Key()))
	id := hex.EncodeToString(sum[:16])
	if call.Key() == "" {
		id = rand.Text()
	}
	msg := map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"text": in.Text}}}
	if in.Task != "" {
		msg["taskId"] = in.Task
	}
	if in.Context != "" {
		msg["contextId"] = in.Context
	}
	said := map[string]any{}
	if in.Ambient {
		said[lending.Extension+"/ambient"] = true
	}
	var ids []string
	attenuations := map[string]lending.Constraints{}
	for _, name := range in.Capabilities {
		l, err := c.findLoan(call, r, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, l.id)
		if less, ok := in.Attenuations[name]; ok {
			attenuations[l.id] = less
		}
	}
	if len(attenuations) != len(in.Attenuations) {
		return nil, fault.New(fault.InvalidInput, "attenuations name a capability that does not go with the message")
	}
	if len(ids) > 0 {
		said[lending.Extension+"/capabilities"], said[lending.Extension+"/attenuations"] = ids, attenuations
		msg["extensions"] = []string{lending.Extension}
	}
	return map[string]any{"message": msg, "metadata": said, "configuration": map[string]any{"returnImmediately": true}}, nil
}

// settle returns a task when it has ended or waits for somebody, or as it is after a while.
func (r *remote) settle(ctx context.Context, raw json.RawMessage) json.RawMessage {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait := firstLook; ; wait += wait / 2 {
		var answer struct {
			Task struct {
				ID     string `json:"id"`
				Status struct {
					State string `json:"state"`
				} `json:"status"`
			} `json:"task"`
		}
		state := ""
		if json.Unmarshal(raw, &answer) == nil {
			state = answer.Task.Status.State
		}
		if answer.Task.ID == "" || state != "TASK_STATE_WORKING" && state != "TASK_STATE_SUBMITTED" {
			return raw
		}
		if pause.For(ctx, wait) != nil {
			return raw
		}
		now, err := r.rpc(ctx, "GetTask", map[string]any{"id": answer.Task.ID, "historyLength": 0}, false)
		if err != nil {
			return raw // who may not look, or the time is over
		}
		raw = append(append([]byte(`{"task":`), now...), '}')
	}
}

func (c *Clients) task(ctx context.Context, call tools.Call, in taskAt, can, method string) (reply, error) {
	r, err := c.find(ctx, call, in.agentAt, can)
	if err != nil {
		return reply{}, err
	}
	raw, err := r.rpc(ctx, method, map[string]any{"id": in.ID}, false)
	if err != nil {
		return reply{}, err
	}
	return reply{r.words(), raw}, nil
}

func (c *Clients) get(ctx context.Context, call tools.Call, in taskAt) (reply, error) {
	return c.task(ctx, call, in, canRead, "GetTask")
}

func (c *Clients) cancel(ctx context.Context, call tools.Call, in taskAt) (reply, error) {
	out, err := c.task(ctx, call, in, canCancel, "CancelTask")
	return out, effectError(err)
}

func (c *Clients) use(ctx context.Context, call tools.Call, in use) (reply, error) {
	r, err := c.find(ctx, call, in.agentAt, canSend)
	if err != nil {
		return reply{}, err
	}
	l, err := c.findLoan(call, r, in.Capability)
	if err != nil {
		return reply{}, err
	}
	raw, err := r.rpc(ctx, "a2a/skill/invoke", map[string]any{"skill": in.Skill, "arguments": in.Arguments, "capabilityId": l.id}, true)
	if err != nil {
		return reply{}, effectError(err)
	}
	return reply{r.words(), raw}, nil
}
