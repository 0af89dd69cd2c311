package venue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"usher/caps"
	"usher/prompt"
	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/tools/schema"
	"usher/tools/spend"
	"usher/venue/runs"
)

// model returns the model that a spec names.
func (v *Venue) model(spec *agents.Spec) (runtime.Model, error) {
	m, err := v.models.Model(either(spec.Model, "default"))
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", spec.ID, err)
	}
	return m, nil
}

// toolsOf returns the operations that one entry of a spec's tools means for auth.
// A name below o/ that auth may neither run nor read means an operation that is
// never offered and whose calls are denied, whether or not anything is there.
func (v *Venue) toolsOf(ctx context.Context, auth tools.Authority, ref string) ([]*tools.Operation, error) {
	adapter, all := strings.CutSuffix(ref, ":*")
	if !all {
		op, err := v.gate.Resolve(ctx, auth, ref)
		if denial, denied := errors.AsType[*caps.Denial](err); denied {
			op, err = tools.Unseen(denial.Operation), nil
		}
		if err != nil {
			return nil, err
		}
		return []*tools.Operation{op}, nil
	}
	var ops []*tools.Operation
	for _, op := range v.registry.All() {
		if strings.HasPrefix(op.Name(), adapter+":") {
			ops = append(ops, op)
		}
	}
	if len(ops) == 0 {
		return nil, &tools.NotFoundError{Reference: ref}
	}
	return ops, nil
}

// status is the agent's status as it is now.
func (v *Venue) status(key agentKey, rec *record) string {
	if rec.Status == agents.Sleeping {
		if a := v.agents.known(key); a != nil && a.busy.Load() > 0 {
			return agents.Running
		}
	}
	return rec.Status
}

// errNotWorking says why an agent takes no work.
func errNotWorking(id, status string) error {
	if status == agents.Suspended {
		return fmt.Errorf("agent %s is SUSPENDED: resume it first", id)
	}
	return fmt.Errorf("agent %s is %s: create it again with overwrite", id, status)
}

// cast is what the turns of an agent have in common for as long as its record
// and the registered operations stay as they are.
type cast struct {
	rec   *record
	known int           // registered operations: none is ever replaced
	actor runtime.Agent // with the authority of its own, called by nobody
}

// actor makes what a turn needs of the agent, acting for the caller: within
// the caller's authority too, unless the agent was given its own.
func (v *Venue) actor(ctx context.Context, a *agent, caller tools.Authority) (*runtime.Agent, error) {
	rec := a.rec.Load()
	if rec == nil {
		return nil, &NoAgentError{a.key.id}
	}
	if rec.Status != agents.Sleeping {
		return nil, errNotWorking(a.key.id, rec.Status)
	}
	own := rec.Config.Authority == agents.AuthorityOwn
	known := len(v.registry.All())
	c := a.cast.Load()
	if c == nil || c.rec != rec || c.known != known {
		auth := v.mint.Agent(rec.principal(a.key), bound{a.key, rec.Life}.name())
		made, lasts, err := v.newActor(ctx, a.key, rec, auth.CalledBy(caller, own))
		if err != nil {
			return nil, err
		}
		made.Authority = auth
		c = &cast{rec: rec, known: known, actor: *made}
		if lasts {
			a.cast.Store(c)
		}
	}
	out := c.actor
	auth := out.Authority.CalledBy(caller, own)
	out.Authority = auth
	out.Held = func(ctx context.Context) ([]prompt.Delegation, error) { return v.held(ctx, auth) }
	return &out, nil
}

// newActor is an actor without its authority. lasts is false where it depends on
// more than the record: on programs that users keep.
func (v *Venue) newActor(ctx context.Context, key agentKey, rec *record, auth tools.Authority) (out *runtime.Agent, lasts bool, err error) {
	model, err := v.model(&rec.Config)
	if err != nil {
		return nil, false, err
	}
	out = &runtime.Agent{
		ID: key.id, Model: model, ModelName: rec.Config.Model, Prompt: rec.Config.Prompt, Venue: v.name,
		Last: new(atomic.Pointer[runtime.Briefing]),
	}
	for _, c := range rec.Config.Context {
		out.Context = append(out.Context, runtime.ContextEntry{
			Label: c.Label, Text: c.Text, Path: c.Path, Operation: c.Op, Input: c.Input, Required: c.Required,
		})
	}
	if len(rec.Config.Output) > 0 {
		if out.Output, err = schema.Compile(ctx, rec.Config.Output, auth.Meter().ChargeSchema); err != nil {
			return nil, false, fmt.Errorf("output schema of agent %s: %w", key.id, err)
		}
	}
	lasts = true
	for _, ref := range rec.Config.Tools {
		ops, err := v.toolsOf(ctx, auth, ref)
		var missing *tools.NotFoundError
		if errors.As(err, &missing) {
			v.log.WarnContext(ctx, "tool of agent is not there", "agent", key.id, "tool", ref)
			lasts = false
			continue
		}
		if err != nil {
			return nil, false, fmt.Errorf("tools of agent %s: %w", key.id, err)
		}
		for _, op := range ops {
			lasts = lasts && strings.HasPrefix(op.Path(), "v/")
			if !slices.Contains(out.Tools, op) {
				out.Tools = append(out.Tools, op)
			}
		}
	}
	return out, lasts, nil
}

// ErrWaitsForItself: a turn would wait for the session that it runs in.
var ErrWaitsForItself = fault.New(fault.WaitsForItself, "the session is in a turn that waits for this very call: use another session")

// conversation is a turn that is ready to run.
type conversation struct {
	agent   *agent
	actor   *runtime.Agent
	session *runs.Session
	say     runtime.Say
}

// turn runs one turn as the work of a run, within the budgets that bound it.
func (v *Venue) turn(c conversation) runs.Work {
	return func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		key := c.agent.key.String() + "/" + c.session.ID()
		if c.actor.Authority.Within(key) {
			return nil, fmt.Errorf("agent %s, session %s: %w", c.agent.key.id, c.session.ID(), ErrWaitsForItself)
		}
		c.actor.Authority = c.actor.Authority.InRun(r.ID()).InTurn(key)
		ctx, err := v.bounded(ctx, c.agent, c.session.ID())
		if err != nil {
			return nil, err
		}
		defer v.accounts.Save(ctx) // what no log entry took with it
		c.agent.busy.Add(1)
		defer c.agent.busy.Add(-1)
		var last runtime.TurnFinished
		for ev, err := range v.runner.Turn(ctx, c.actor, c.session.Session, c.say) {
			if err != nil {
				return nil, err
			}
			switch ev := ev.(type) {
			case runtime.TurnFinished:
				last = ev
			case runtime.TextDelta, runtime.ReasoningDelta, runtime.ToolCallDelta, runtime.UsageDelta, runtime.ModelDelayed:
				r.Show(ev)
			}
		}
		if last.Output != nil {
			return last.Output, nil
		}
		return json.Marshal(last.Text)
	}
}

// Request runs a task on an agent, as a run of its own.
func (s agentService) Request(ctx context.Context, call tools.Call, task agents.Task) (agents.Answer, error) {
	a, rec, err := s.find(ctx, call, task.Agent)
	if err != nil {
		return agents.Answer{}, err
	}
	actor, err := s.v.actor(ctx, a, call.Authority())
	if err != nil {
		return agents.Answer{}, err
	}
	if len(task.Output) > 0 {
		if actor.Output, err = schema.Compile(ctx, task.Output, call.ChargeSchema); err != nil {
			return agents.Answer{}, fmt.Errorf("responseSchema: %w", err)
		}
	}
	text, err := taskText(task.Input)
	if err != nil {
		return agents.Answer{}, err
	}
	session, release, err := s.v.session(ctx, bound{a.key, rec.Life}.name(), call.Actor(), task.Session, true)
	if err != nil {
		return agents.Answer{}, err
	}
	turn := s.v.turn(conversation{a, actor, session, runtime.Say{From: caller(call), Text: text}})
	spec := runs.Spec{Kind: runs.Task, Op: call.Operation(), Input: task.Input, Agent: task.Agent, Session: session, Background: task.Timeout > 0}
	r, err := s.v.runs.Start(ofTask(ctx, call, task), call.Authority(), spec, func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		defer release()
		output, err := turn(ctx, r)
		if err != nil {
			err = fmt.Errorf("agent %s: %w", task.Agent, err)
		}
		return output, toldTo(call, task.Agent, err)
	})
	if err != nil {
		release()
		return agents.Answer{}, err
	}
	answer := agents.Answer{ID: r.ID(), Status: runs.Complete, AgentID: task.Agent, SessionID: session.ID()}
	if task.Timeout > 0 {
		output, ended, err := r.Timeout(ctx, task.Timeout)
		if answer.Output = output; !ended {
			answer.Status = runs.Started
		}
		return answer, s.v.discreet(ctx, call, task.Agent, err)
	}
	// Whoever waits and leaves stops the task.
	defer context.AfterFunc(ctx, func() { r.Stop(context.Cause(ctx)) })()
	answer.Output, err = r.Wait(context.WithoutCancel(ctx))
	return answer, s.v.discreet(ctx, call, task.Agent, err)
}

// toldTo is a failure of the agent id as the caller may hear it. Another agent
// learns neither what this one requires in its context nor, by a denial, what
// it may do, and must not take the denial for one of its own.
func toldTo(call tools.Call, id string, err error) error {
	if call.Actor() == "" {
		return err
	}
	if _, denied := errors.AsType[*caps.Denial](err); denied {
		return fmt.Errorf("agent %s could not begin: something that it requires was refused; its owner can see what in the audit ledger", id)
	}
	if _, spent := errors.AsType[*spend.BudgetError](err); spent {
		return err // whose name it may hear is decided where budgets are told
	}
	if _, context := errors.AsType[*runtime.ContextError](err); context {
		return fmt.Errorf("agent %s could not begin: something that it requires could not be loaded; its owner can see what in the agent's session", id)
	}
	return err
}

// Message leaves a text for the agent's next turn in a session.
func (s agentService) Message(ctx context.Context, call tools.Call, id, session, text string) (agents.Delivered, error) {
	a, rec, err := s.find(ctx, call, id)
	if err != nil {
		return agents.Delivered{}, err
	}
	if rec.Status == agents.Terminated {
		return agents.Delivered{}, errNotWorking(id, rec.Status)
	}
	ses, release, err := s.v.messageSession(ctx, bound{a.key, rec.Life}.name(), call.Actor(), session)
	if err != nil {
		return agents.Delivered{}, err
	}
	defer release()
	if err := ses.Leave(ctx, s.v.now(), runtime.Received{From: caller(call), Text: text}); err != nil {
		return agents.Delivered{}, err
	}
	return agents.Delivered{AgentID: id, SessionID: ses.ID(), Delivered: true}, nil
}

// messageSession is where a message goes: the session that it names, of the
// caller's own, or else the agent's main one, which is the owner's. Leaving a
// message there is what agent/message allows; it is heard as a quotation.
func (v *Venue) messageSession(ctx context.Context, of tools.Life, actor, id string) (*runs.Session, func(), error) {
	if id == "" {
		return v.session(ctx, of, "", mainSession, false)
	}
	return v.session(ctx, of, actor, id, true)
}

// mainSession is where messages and conversations go that name no session.
const mainSession = "main"

// caller names who speaks: the agent, or the user in person.
func caller(call tools.Call) string { return either(call.Actor(), call.Owner().String()) }

// taskText is a task as the agent reads it: a text as it is, anything else as JSON.
func taskText(input json.RawMessage) (string, error) {
	input = bytes.TrimSpace(input)
	if len(input) == 0 {
		return "", errors.New("input is missing: say what the agent should do")
	}
	var text string
	if input[0] == '"' {
		err := json.Unmarshal(input, &text)
		return text, err
	}
	return string(input), nil
}
