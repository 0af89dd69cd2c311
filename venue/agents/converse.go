package agents

import (
	"cmp"
	"context"
	"fmt"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/runs"
)

// requestPath is the operation that gives tasks.
const requestPath = "v/ops/agent/request"

// begin begins a turn of the agent as a run of its own, with what the call says.
func (r *Room) begin(ctx context.Context, call tools.Call, c *conversation, text string, background bool) (*runs.Run, error) {
	c.say.From, c.say.Text = caller(call.Authority()), text
	input, err := inputOf(&c.say)
	if err != nil {
		c.release()
		return nil, err
	}
	spec := runs.Spec{Kind: runs.Task, Op: call.Operation(), Input: input, Background: background, Key: call.Key()}
	return r.start(ctx, call.Authority(), spec, c, teller(speaker(call.Authority()), c.entry.key.id))
}

// Chat says something to the agent, in a session of the caller's own, and returns what
// it answers.
func (r *Room) Chat(ctx context.Context, call tools.Call, in agents.Chat) (agents.ChatResult, error) {
	e, rec, err := r.find(ctx, ownKey(call, in.AgentID))
	if err != nil {
		return agents.ChatResult{}, err
	}
	opener, err := opener(call, in.SessionID)
	if err != nil {
		return agents.ChatResult{}, err
	}
	c, err := r.converse(ctx, e, rec, call.Authority(), opener, in.SessionID, !in.Create)
	if err != nil {
		return agents.ChatResult{}, err
	}
	if err := r.brings(ctx, call, c, &in); err != nil {
		c.release()
		return agents.ChatResult{}, err
	}
	id := c.session.ID()
	at := string(c.actor.Authority.Life()) + "/" + id
	if key, taken := r.chats.LoadOrStore(at, call.Key()); taken && (key == "" || key != call.Key()) {
		c.release()
		return agents.ChatResult{}, fault.New(fault.Busy, fmt.Sprintf("session %s has a chat that is not answered yet: wait for it, or use another session", id))
	}
	defer r.chats.Delete(at)
	run, err := r.begin(ctx, call, c, in.Message, false)
	if err != nil {
		return agents.ChatResult{}, err
	}
	_, response, err := wait(ctx, run, false, 0)
	return agents.ChatResult{AgentID: in.AgentID, SessionID: cmp.Or(run.Record().Session, id), Response: response, Pending: openCallsOf(c)}, r.discreet(ctx, call, in.AgentID, err)
}

// IsShaped reports whether an agent answers by a schema of its own.
func (r *Room) IsShaped(ctx context.Context, owner ucan.DID, id string) bool {
	_, rec, err := r.find(ctx, key{owner, id})
	return err == nil && len(rec.Config.Output) > 0
}

// IsOwn reports whether an agent acts by an authority of its own, whoever asks it.
func (r *Room) IsOwn(ctx context.Context, owner ucan.DID, id string) bool {
	_, rec, err := r.find(ctx, key{owner, id})
	return err == nil && rec.Config.Authority == agents.AuthorityOwn
}

// Trigger has the agent take a turn on the messages that wait in a session: the main
// one, or the caller's own that it names.
func (r *Room) Trigger(ctx context.Context, call tools.Call, in agents.Trigger) (agents.TriggerResult, error) {
	out := agents.TriggerResult{AgentID: in.AgentID}
	e, rec, err := r.find(ctx, ownKey(call, in.AgentID))
	if err != nil {
		return out, err
	}
	opener, err := opener(call, in.SessionID)
	if err != nil {
		return out, err
	}
	session := in.SessionID
	if session == "" {
		opener, session = "", mainSession
	}
	c, err := r.converse(ctx, e, rec, call.Authority(), opener, session, in.SessionID != "")
	if err != nil {
		return out, err
	}
	out.SessionID = c.session.ID()
	text := "Read the messages above, and do what they ask for as far as it is yours to do."
	if c.session.Inbox() == 0 {
		if in.Force != nil && !*in.Force {
			c.release()
			return out, nil
		}
		text = "No message waits for you. Do what is yours to do now."
	}
	bounded, most, err := agents.Waits(in.Wait)
	if err != nil {
		c.release()
		return out, err
	}
	run, err := r.begin(ctx, call, c, text, bounded)
	if err != nil {
		return out, err
	}
	out.ID = run.ID()
	out.Status, _, err = wait(ctx, run, bounded, most)
	if fault.Of(err) == fault.Waiting {
		return out, err // the call goes on, and is answered then
	}
	if err != nil {
		out.Status = run.Record().Status
	}
	return out, nil
}

// Context is what the agent's model would be told now in a turn for the caller. What it
// has before it is read within what the caller may do too, also of an agent that acts by
// an authority of its own: looking at it gets nobody what they may not read.
func (r *Room) Context(ctx context.Context, call tools.Call, in agents.Ref) (agents.Context, error) {
	k := ownKey(call, in.AgentID)
	e, rec, err := r.find(ctx, k)
	if err != nil {
		return agents.Context{}, err
	}
	actor, err := r.actor(ctx, e, rec, call.Authority())
	if err != nil {
		return agents.Context{}, err
	}
	actor.Authority = r.Mint.Agent(rec.principal(k), rec.life(k)).ByCaller(call.Authority(), false)
	actor.Last = nil
	if ctx, err = r.withTurnBudgets(ctx, k, mainSession, nil); err != nil {
		return agents.Context{}, r.discreet(ctx, call, in.AgentID, err)
	}
	brief, err := r.Runner.Brief(ctx, actor)
	if err != nil {
		return agents.Context{}, r.discreet(ctx, call, in.AgentID, tellError(speaker(call.Authority()), in.AgentID, err))
	}
	out := agents.Context{AgentID: in.AgentID, System: brief.System, Tools: make([]agents.ToolView, len(brief.Tools))}
	for i, tool := range brief.Tools {
		out.Tools[i] = agents.ToolView{Name: tool.Name, Description: tool.Description, Input: tool.Input}
	}
	return out, nil
}

// CancelTask ends a task of the agent.
func (r *Room) CancelTask(ctx context.Context, call tools.Call, in agents.TaskID) (agents.TaskState, error) {
	if _, _, err := r.find(ctx, ownKey(call, in.AgentID)); err != nil {
		return agents.TaskState{}, err
	}
	rec, err := r.Runs.Find(ctx, call.Owner(), in.TaskID)
	if fault.Of(err) == fault.NotFound || err == nil && (rec.Kind != runs.Task || rec.Agent != in.AgentID) {
		err = fault.New(fault.NotFound, fmt.Sprintf("agent %s has no task %q", in.AgentID, in.TaskID))
	}
	if err == nil {
		err = r.Runs.Cancel(ctx, call.Owner(), in.TaskID)
	}
	if err != nil {
		return agents.TaskState{}, err
	}
	return agents.TaskState{AgentID: in.AgentID, ID: in.TaskID, Status: runs.Cancelled}, nil
}
