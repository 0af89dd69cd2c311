package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
)

// taskError says that an agent failed the task that it was given, and why.
type taskError struct{ Reason string }

func (e *taskError) Error() string { return "it failed the task: " + e.Reason }

// Code is [fault.TaskFailed].
func (e *taskError) Code() fault.Code { return fault.TaskFailed }

// errNoTask: the model would end a task where it has none.
var errNoTask = fault.New(fault.Refused, "this turn is no task that could be ended: answer in text")

// ending is how a call ended the task of a turn.
type ending struct {
	call   string // its id
	op     *tools.Operation
	output json.RawMessage // nil where the result is a text
	text   string
	failed error
}

// isCalled reports whether a model means an operation by a name.
func isCalled(op *tools.Operation, name string) bool {
	return op != nil && (op.ToolName() == name || op.Name() == name || op.Path() == name)
}

// endsTask is the operation by which a call would end the turn's task; nil for any
// other call. It does what an answer in text does, and touches nothing else: the gate
// is not asked, so that an agent without any capability can end its own task too.
func (t *turn) endsTask(name string) *tools.Operation {
	for _, op := range [...]*tools.Operation{t.agent.Complete, t.agent.Fail} {
		if isCalled(op, name) {
			return op
		}
	}
	return nil
}

func (t *turn) isEnding(call ToolCall) bool { return t.endsTask(call.Name) != nil }

// end ends the task by the first call that can, after all others are made. What does not
// fit goes back to the model.
func (t *turn) end(ctx context.Context, calls []ToolCall) error {
	for i := range calls {
		call := &calls[i]
		op := t.endsTask(call.Name)
		if t.ended != nil {
			return nil // it was never started
		}
		e, err := t.ending(ctx, op, call)
		if err == nil {
			t.ended = e
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		done := ToolEnd{CallID: call.ID, Name: call.Name, Operation: op.Path(), Outcome: ToolFailed, Result: t.cut(tools.Explain(err))}
		if err := t.record(ctx, done); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) ending(ctx context.Context, op *tools.Operation, call *ToolCall) (*ending, error) {
	if !t.agent.Task {
		return nil, errNoTask
	}
	wrong := func(err error) (*ending, error) { return nil, &tools.InputError{Operation: op.Path(), Err: err} }
	var in struct {
		Result json.RawMessage `json:"result"`
		Reason string          `json:"reason"`
	}
	read := json.NewDecoder(strings.NewReader(call.Arguments))
	read.DisallowUnknownFields()
	if err := read.Decode(&in); err != nil {
		return wrong(err)
	}
	e := &ending{call: call.ID, op: op}
	if op == t.agent.Fail {
		if strings.TrimSpace(in.Reason) == "" {
			return wrong(errors.New("reason is missing: say why the task cannot be done"))
		}
		e.failed = &taskError{value.Cut(in.Reason, maxWhy)}
		return e, nil
	}
	if len(in.Result) == 0 {
		return wrong(errors.New("result is missing: give the result of the task"))
	}
	if schema := t.agent.Output; schema != nil {
		if err := schema.Validate(ctx, in.Result, t.agent.Authority.Meter().ChargeSchema); err != nil {
			return wrong(fmt.Errorf("result does not fit the schema of the answer: %w", err))
		}
	} else if in.Result[0] == '"' {
		return e, json.Unmarshal(in.Result, &e.text)
	}
	e.output = in.Result
	return e, nil
}

// results are those that the turn owes as it ends.
func (t *turn) results(open []owed) []ToolEnd {
	out := results(open)
	for i := range out {
		if e := t.ended; e != nil && out[i].CallID == e.call {
			out[i] = ToolEnd{CallID: e.call, Name: out[i].Name, Operation: e.op.Path(), Outcome: ToolOK, Result: `{"ended":true}`}
		}
	}
	return out
}

// result is how the turn ends by the call that ended its task.
func (e *ending) result() (TurnEnd, error) {
	return TurnEnd{Text: e.text, Output: e.output}, e.failed
}
