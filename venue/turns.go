package venue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"usher/caps"
	"usher/prompt"
	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/tools/schema"
	"usher/tools/spend"
	"usher/ucan"
)

// model returns the model that a spec names.
func (v *Venue) model(spec *agents.Spec) (runtime.Model, error) {
	name := either(spec.Model, "default")
	if m, ok := v.models[name]; ok {
		return m, nil
	}
	known := slices.Sorted(maps.Keys(v.models))
	if len(known) == 0 {
		return nil, fmt.Errorf("agent %s: this venue has no models: configure one under models, or give one in Options.Models", spec.ID)
	}
	return nil, fmt.Errorf("agent %s: there is no model %q; there are %s", spec.ID, name, strings.Join(known, ", "))
}

// toolsOf returns the operations that one entry of a spec's tools means.
func (v *Venue) toolsOf(ctx context.Context, owner ucan.DID, ref string) ([]*tools.Operation, error) {
	adapter, all := strings.CutSuffix(ref, ":*")
	if !all {
		op, err := v.registry.Resolve(ctx, owner, ref)
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
	model, err := v.model(&rec.Config)
	if err != nil {
		return nil, err
	}
	auth := v.mint.Agent(rec.principal(a.key), bound{a.key, rec.Life}.name()).
		CalledBy(caller, rec.Config.Authority == agents.AuthorityOwn)
	out := &runtime.Agent{
		ID: a.key.id, Authority: auth, Model: model, ModelName: rec.Config.Model, Prompt: rec.Config.Prompt, Venue: v.name,
	}
	for _, c := range rec.Config.Context {
		out.Context = append(out.Context, runtime.ContextEntry{
			Label: c.Label, Text: c.Text, Path: c.Path, Operation: c.Op, Input: c.Input, Required: c.Required,
		})
	}
	if len(rec.Config.Output) > 0 {
		if out.Output, err = schema.Compile(rec.Config.Output); err != nil {
			return nil, fmt.Errorf("output schema of agent %s: %w", a.key.id, err)
		}
	}
	out.Held = func(ctx context.Context) ([]prompt.Delegation, error) { return v.held(ctx, auth) }
	for _, ref := range rec.Config.Tools {
		ops, err := v.toolsOf(ctx, auth.Owner(), ref)
		var missing *tools.NotFoundError
		if errors.As(err, &missing) {
			v.log.WarnContext(ctx, "tool of agent is not there", "agent", a.key.id, "tool", ref)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("tools of agent %s: %w", a.key.id, err)
		}
		for _, op := range ops {
			if !slices.Contains(out.Tools, op) {
				out.Tools = append(out.Tools, op)
			}
		}
	}
	return out, nil
}

// ErrWaitsForItself: a turn would wait for the session that it runs in.
var ErrWaitsForItself = fault.New(fault.WaitsForItself, "the session is in a turn that waits for this very call: use another session")

// turn runs one turn of the agent, within the budgets that bound it.
func (v *Venue) turn(ctx context.Context, a *agent, actor *runtime.Agent, s *runtime.Session, say runtime.Say) iter.Seq2[runtime.Event, error] {
	return func(yield func(runtime.Event, error) bool) {
		key := a.key.String() + "/" + s.ID()
		if actor.Authority.Within(key) {
			yield(nil, fmt.Errorf("agent %s, session %s: %w", a.key.id, s.ID(), ErrWaitsForItself))
			return
		}
		actor.Authority = actor.Authority.InTurn(key)
		ctx, err := v.bounded(ctx, a, s.ID())
		if err != nil {
			yield(nil, err)
			return
		}
		defer v.accounts.save(ctx, nil) // what no log entry took with it
		a.busy.Add(1)
		defer a.busy.Add(-1)
		for ev, err := range v.runner.Turn(ctx, actor, s, say) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// Request runs a task on an agent, as a job.
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
		if actor.Output, err = schema.Compile(task.Output); err != nil {
			return agents.Answer{}, fmt.Errorf("responseSchema: %w", err)
		}
	}
	text, err := taskText(task.Input)
	if err != nil {
		return agents.Answer{}, err
	}
	session, release, err := s.v.session(ctx, a, rec.Life, call.Actor(), task.Session, true)
	if err != nil {
		return agents.Answer{}, err
	}
	job, err := s.v.newJob(call.Authority(), call.Operation(), task.Input)
	if err != nil {
		release()
		return agents.Answer{}, err
	}
	job.rec.Session = session.ID()
	if err := job.begin(ctx); err != nil {
		release()
		return agents.Answer{}, err
	}
	actor.Authority = actor.Authority.InRun(job.rec.ID)
	say := runtime.Say{From: caller(call), Text: text}
	err = s.v.runJob(ctx, job, task.Timeout, func(ctx context.Context) (json.RawMessage, error) {
		defer release()
		out, err := s.v.answer(ofTask(ctx, call, task), a, actor, session, say)
		return out, toldTo(call, task.Agent, err)
	})
	if err != nil {
		return agents.Answer{}, s.v.discreet(ctx, call, task.Agent, err)
	}
	st := job.status()
	return agents.Answer{ID: st.ID, Status: st.Status, AgentID: task.Agent, SessionID: session.ID(), Output: job.result()}, nil
}

// answer runs a turn to its end and returns the answer as JSON.
func (v *Venue) answer(ctx context.Context, a *agent, actor *runtime.Agent, s *runtime.Session, say runtime.Say) (json.RawMessage, error) {
	var last runtime.TurnFinished
	for ev, err := range v.turn(ctx, a, actor, s, say) {
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", a.key.id, err)
		}
		if done, ok := ev.(runtime.TurnFinished); ok {
			last = done
		}
	}
	if last.Output != nil {
		return last.Output, nil
	}
	return json.Marshal(last.Text)
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
	ses, release, err := s.v.messageSession(ctx, a, rec.Life, call.Actor(), session)
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
func (v *Venue) messageSession(ctx context.Context, a *agent, life, actor, id string) (*runtime.Session, func(), error) {
	if id == "" {
		return v.session(ctx, a, life, "", mainSession, false)
	}
	return v.session(ctx, a, life, actor, id, true)
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
