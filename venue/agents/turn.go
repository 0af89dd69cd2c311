package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"usher/caps"
	"usher/caps/value"
	"usher/prompt"
	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/tools/schema"
	"usher/venue/runs"
)

// model returns the model that a spec names.
func (r *Room) model(spec *agents.Spec) (runtime.Model, error) {
	m, err := r.Models.Model(cmp.Or(spec.Model, "default"))
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", spec.ID, err)
	}
	return m, nil
}

// toolsOf returns the operations that one entry of a spec's tools means for auth.
// A name below o/ that auth may neither run nor read means an operation that is
// never offered and whose calls are denied, whether or not anything is there.
func (r *Room) toolsOf(ctx context.Context, auth tools.Authority, ref string) ([]*tools.Operation, error) {
	if path, all := strings.CutSuffix(ref, "/*"); all {
		ops, err := r.Registry.Below(ctx, auth.Owner(), auth.Caps(), path+"/")
		if err == nil && len(ops) == 0 {
			err = &tools.NotFoundError{Reference: ref}
		}
		return ops, err
	}
	adapter, all := strings.CutSuffix(ref, ":*")
	if !all {
		op, err := r.Gate.Resolve(ctx, auth, ref)
		if denial, denied := errors.AsType[*caps.Denial](err); denied {
			op, err = tools.Placeholder(denial.Operation), nil
		}
		if err != nil {
			return nil, err
		}
		return []*tools.Operation{op}, nil
	}
	var ops []*tools.Operation
	for _, op := range r.Registry.All() {
		if strings.HasPrefix(op.Name(), adapter+":") {
			ops = append(ops, op)
		}
	}
	if len(ops) == 0 {
		return nil, &tools.NotFoundError{Reference: ref}
	}
	return ops, nil
}

// errNoWork says why an agent takes no work.
func errNoWork(id string, rec *record) error {
	switch most := rec.Config.MaxFailures(); {
	case rec.Status != agents.Suspended:
		return fmt.Errorf("agent %s is %s: create it again with overwrite", id, rec.Status)
	case rec.Failing != nil && most > 0 && rec.Failing.Turns >= most:
		return fmt.Errorf("agent %s is SUSPENDED, since its last %d turns failed (agent:info says why): resume it first", id, rec.Failing.Turns)
	}
	return fmt.Errorf("agent %s is SUSPENDED: resume it first", id)
}

// cast is what the turns of an agent have in common for as long as its record
// and the registered operations stay as they are.
type cast struct {
	rec   *record
	known uint64        // version of the registry
	actor runtime.Agent // with the authority of its own, called by nobody
}

// actor makes what a turn needs of the agent, acting for the caller: within
// the caller's authority too, unless the agent was given its own.
func (r *Room) actor(ctx context.Context, e *entry, rec *record, caller tools.Authority) (*runtime.Agent, error) {
	own := rec.Config.Authority == agents.AuthorityOwn
	known := r.Registry.Version()
	c := e.cast.Load()
	if c == nil || c.rec != rec || c.known != known {
		auth := r.Mint.Agent(rec.principal(e.key), rec.life(e.key))
		made, lasts, err := r.newActor(ctx, e.key, rec, auth.ByCaller(caller, own))
		if err != nil {
			return nil, err
		}
		made.Authority = auth
		c = &cast{rec: rec, known: known, actor: *made}
		if lasts {
			e.cast.Store(c)
		}
	}
	out := c.actor
	auth := out.Authority.ByCaller(caller, own)
	out.Authority = auth
	out.Held = func(ctx context.Context) ([]prompt.Delegation, error) { return r.Held(ctx, auth) }
	return &out, nil
}

// newActor is an actor without its authority. lasts is false where it depends on
// more than the record: on programs that users keep.
func (r *Room) newActor(ctx context.Context, k key, rec *record, auth tools.Authority) (out *runtime.Agent, lasts bool, err error) {
	model, err := r.model(&rec.Config)
	if err != nil {
		return nil, false, err
	}
	out = &runtime.Agent{
		ID: k.id, Model: model, ModelName: rec.Config.Model, Prompt: rec.Config.Prompt, Venue: r.Venue,
		ContextBy: rec.Wrote, Asks: rec.asks(), Last: new(atomic.Pointer[runtime.Briefing]),
	}
	for name, op := range map[string]**tools.Operation{agents.CompleteTask: &out.Complete, agents.FailTask: &out.Fail} {
		if *op, err = r.Gate.Resolve(ctx, auth, name); err != nil {
			return nil, false, err
		}
	}
	for _, c := range rec.Config.Context {
		out.Context = append(out.Context, runtime.ContextEntry{
			Label: c.Label, Text: c.Text, Path: c.Path, Operation: c.Op, Input: c.Input, Required: c.Required,
		})
	}
	if len(rec.Config.Output) > 0 {
		if out.Output, err = schema.Compile(ctx, rec.Config.Output, auth.Meter().ChargeSchema); err != nil {
			return nil, false, fmt.Errorf("output schema of agent %s: %w", k.id, err)
		}
	}
	lasts = true
	for _, ref := range rec.Config.Tools {
		ops, err := r.toolsOf(ctx, auth, ref)
		_, missing := errors.AsType[*tools.NotFoundError](err)
		if _, away := errors.AsType[*tools.FetchError](err); missing || away {
			r.Logger.WarnContext(ctx, "tool of agent is not there", "agent", k.id, "tool", ref, "error", err)
			lasts = false
			continue
		}
		if err != nil {
			return nil, false, fmt.Errorf("tools of agent %s: %w", k.id, err)
		}
		for _, op := range ops {
			if op == out.Complete || op == out.Fail {
				continue // offered where there is a task
			}
			lasts = lasts && !strings.HasPrefix(op.Path(), "o/")
			if !slices.Contains(out.Tools, op) {
				out.Tools = append(out.Tools, op)
			}
		}
	}
	return out, lasts, nil
}

var errWaitsForItself = fault.New(fault.WaitsForItself, "the session is in a turn that waits for this very call: use another session")

// conversation is a turn that is ready to run.
type conversation struct {
	entry   *entry
	actor   *runtime.Agent
	session *runs.Session
	say     runtime.Say
	release func()             // of the session
	resumes bool               // the session has the turn, which goes on
	form    bool               // of the answer, is the caller's
	pending []runtime.ToolCall // that the turn has left to whoever talks
}

// converse prepares a turn of the agent for the caller, in a session of opener's:
// an agent, or the owner in person where that is empty.
func (r *Room) converse(ctx context.Context, e *entry, rec *record, caller tools.Authority, opener, session string, mustExist bool) (*conversation, error) {
	if rec.Status != agents.Sleeping {
		return nil, errNoWork(e.key.id, rec)
	}
	if err := r.MayHave(e.key.owner); err != nil {
		return nil, err
	}
	actor, err := r.actor(ctx, e, rec, caller)
	if err != nil {
		return nil, err
	}
	c := &conversation{entry: e, actor: actor}
	if c.session, c.release, err = r.session(ctx, actor.Authority.Life(), opener, session, mustExist); err != nil {
		return nil, err
	}
	if err := r.Runs.Settle(ctx, caller.Owner(), c.session); err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// start runs a turn as the run that spec says, for whoever auth is. told is the
// error of the turn as they may hear it.
func (r *Room) start(ctx context.Context, auth tools.Authority, spec runs.Spec, c *conversation, told func(error) error) (*runs.Run, error) {
	if err := c.say.Check(); err != nil {
		c.release()
		return nil, err
	}
	spec.Agent, spec.Session = c.entry.key.id, c.session
	run, err := r.Runs.Start(ctx, auth, spec, func(ctx context.Context, run *runs.Run) (json.RawMessage, error) {
		defer c.release()
		output, err := r.turn(ctx, run, c)
		return output, told(err)
	})
	if err != nil {
		c.release()
	}
	return run, err
}

// turn runs one turn as the work of a run, within the budgets that bound it.
func (r *Room) turn(ctx context.Context, run *runs.Run, c *conversation) (json.RawMessage, error) {
	k := c.entry.key
	name := k.owner.String() + "/" + k.id + "/" + c.session.ID()
	if c.actor.Authority.Within(name) {
		return nil, fmt.Errorf("agent %s, session %s: %w", k.id, c.session.ID(), errWaitsForItself)
	}
	c.actor.Authority = c.actor.Authority.InRun(run.ID()).InTurn(name)
	c.actor.Granted = func(ctx context.Context) ([]caps.Capability, error) { return r.Granted(ctx, c.actor.Authority) }
	ctx, err := r.withTurnBudgets(ctx, k, c.session.ID(), &runs.Part{Owner: run.Owner(), Record: run.Record()})
	if err != nil {
		return nil, err
	}
	defer r.Accounts.Save(ctx) // what no log entry took with it
	c.entry.busy.Add(1)
	defer c.entry.busy.Add(-1)
	c.actor.Ready = func() error { return r.ready(c, run.Record().Kind == runs.Task) }
	output, err := r.follow(ctx, run, c)
	r.judge(ctx, c, err)
	return output, err
}

// follow runs a turn, and shows what is not logged of it.
func (r *Room) follow(ctx context.Context, run *runs.Run, c *conversation) (json.RawMessage, error) {
	var last runtime.TurnEnd
	events := r.Runner.Turn(ctx, c.actor, c.session.Session, c.say)
	if c.resumes {
		events = r.Runner.Resume(ctx, c.actor, c.session.Session)
	}
	for ev, err := range events {
		if err != nil {
			return nil, err
		}
		switch ev := ev.(type) {
		case runtime.TurnEnd:
			last = ev
			c.pending = c.session.OpenCalls()
		case runtime.TextDelta, runtime.ReasoningDelta, runtime.ToolCallDelta, runtime.UsageDelta, runtime.ModelDelay:
			run.Show(ev)
		}
	}
	if last.Output != nil {
		return last.Output, nil
	}
	return value.AppendString(nil, last.Text), nil
}
