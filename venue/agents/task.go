package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/tools/schema"
	"usher/tools/spend"
	"usher/venue/runs"
)

// Request runs a task on an agent, as a run of its own.
func (r *Room) Request(ctx context.Context, call tools.Call, task agents.Request) (agents.Answer, error) {
	text, err := taskText(task.Input)
	if err != nil {
		return agents.Answer{}, err
	}
	var form *schema.Schema
	if len(task.ResponseSchema) > 0 {
		if form, err = schema.Compile(ctx, task.ResponseSchema, call.Meter().ChargeSchema); err != nil {
			return agents.Answer{}, fmt.Errorf("responseSchema: %w", err)
		}
	}
	e, rec, err := r.find(ctx, ownKey(call, task.AgentID))
	if err != nil {
		return agents.Answer{}, err
	}
	opener, err := opener(call, task.SessionID)
	if err != nil {
		return agents.Answer{}, err
	}
	c, err := r.converse(ctx, e, rec, call.Authority(), opener, task.SessionID, true)
	if err != nil {
		return agents.Answer{}, err
	}
	c.say = runtime.Say{From: caller(call.Authority()), Text: text}
	if form != nil {
		c.actor.Output, c.form = form, true
	}
	bounded, most := task.Waits()
	c.actor.Task = true
	spec := runs.Spec{
		Kind: runs.Task, Op: call.Operation(), Input: task.Input, Background: bounded, Key: call.Key(), Schema: task.ResponseSchema, Limits: task.Budget,
	}
	run, err := r.start(ctx, call.Authority(), spec, c, teller(opener, task.AgentID))
	if err != nil {
		return agents.Answer{}, err
	}
	answer := agents.Answer{ID: run.ID(), Status: runs.Complete, AgentID: task.AgentID, SessionID: cmp.Or(run.Record().Session, c.session.ID())}
	answer.Status, answer.Output, err = wait(ctx, run, bounded, most)
	return answer, r.discreet(ctx, call, task.AgentID, err)
}

// wait waits for a run: to its end, or at most so long. Of one that is bounded a run
// that goes on is no error.
func wait(ctx context.Context, run *runs.Run, bounded bool, most time.Duration) (status string, output json.RawMessage, err error) {
	if !bounded {
		// Whoever waits and leaves stops the task.
		defer context.AfterFunc(ctx, func() { run.Stop(context.Cause(ctx)) })()
		output, err = run.Wait(context.WithoutCancel(ctx))
		return runs.Complete, output, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, most, errStillRuns)
	defer cancel()
	output, err = run.Wait(waiting)
	switch {
	case errors.Is(err, errStillRuns):
		return runs.Started, nil, nil
	case fault.Of(err) == fault.Waiting:
		return run.Record().Status, nil, nil
	}
	return runs.Complete, output, err
}

// errStillRuns ends waiting, and not the task.
var errStillRuns = errors.New("the task still runs")

// teller tells a failure of the agent id as the caller may hear it. Another agent
// learns neither what this one requires in its context nor, by a denial, what
// it may do, and must not take the denial for one of its own.
func teller(actor, id string) func(error) error {
	return func(err error) error {
		if err == nil {
			return nil
		}
		return tellError(actor, id, fmt.Errorf("agent %s: %w", id, err))
	}
}

func tellError(actor, id string, err error) error {
	if actor == "" || fault.Of(err) == fault.Waiting {
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
//
// It goes to the session that it names, of the caller's own, or else to the
// agent's main one, which is the owner's: that is what agent/message allows, and
// it is heard as a quotation.
func (r *Room) Message(ctx context.Context, call tools.Call, in agents.Message) (agents.MessageResult, error) {
	k := ownKey(call, in.AgentID)
	_, rec, err := r.find(ctx, k)
	if err != nil {
		return agents.MessageResult{}, err
	}
	if rec.Status == agents.Terminated {
		return agents.MessageResult{}, errNoWork(in.AgentID, rec)
	}
	opener, err := opener(call, in.SessionID)
	if err != nil {
		return agents.MessageResult{}, err
	}
	session, mustExist := in.SessionID, in.SessionID != ""
	if !mustExist {
		opener, session = "", mainSession
	}
	ses, release, err := r.session(ctx, rec.life(k), opener, session, mustExist)
	if err != nil {
		return agents.MessageResult{}, err
	}
	defer release()
	if err := ses.Leave(ctx, r.Now(), runtime.InboxMessage{From: caller(call.Authority()), Text: in.Message}); err != nil {
		return agents.MessageResult{}, err
	}
	return agents.MessageResult{AgentID: in.AgentID, SessionID: ses.ID(), Delivered: true}, nil
}

// mainSession is where messages and conversations go that name no session.
const mainSession = "main"

// caller names who speaks: an agent, or the user in person.
func caller(auth tools.Authority) string { return cmp.Or(speaker(auth), auth.Owner().String()) }

// speaker is the agent whose word calls are: the one that makes them, or that wrote the stored
// program which does. It is "" for the owner in person.
func speaker(auth tools.Authority) string {
	if by := auth.Behind(); len(by) > 0 {
		return by[0].Agent()
	}
	return auth.Actor()
}

var errSeveral = fault.New(fault.Refused, "a program that several agents wrote is none of them, and reaches the sessions of none: leave sessionId out")

// opener is whose sessions a call means that names one: those of its speaker.
func opener(call tools.Call, session string) (string, error) {
	if session != "" && len(call.Authority().Behind()) > 1 {
		return "", errSeveral
	}
	return speaker(call.Authority()), nil
}

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
