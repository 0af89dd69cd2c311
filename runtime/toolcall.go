package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"usher/caps"
	"usher/tools"
)

// callTools runs the calls of one answer, in their order.
func (t *turn) callTools(ctx context.Context, calls []ToolCall) error {
	for _, call := range calls {
		if err := t.record(ctx, ToolStarted{Call: call}); err != nil {
			return err
		}
		done := t.callTool(ctx, call)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.record(ctx, done); err != nil {
			return err
		}
	}
	return nil
}

// callTool takes one wish of the model to the gate. Whatever comes of it is
// told to the model.
func (t *turn) callTool(ctx context.Context, call ToolCall) ToolFinished {
	done := ToolFinished{CallID: call.ID, Name: call.Name}
	op, err := t.tool(call.Name)
	if err == nil {
		done.Operation = op.Path()
		var res tools.Result
		res, err = t.invoke(ctx, op, call)
		if err == nil {
			done.Outcome, done.Result = ToolOK, t.cut(res.Output)
			return done
		}
	}
	done.Outcome = ToolFailed
	if _, ok := errors.AsType[*caps.Denial](err); ok {
		done.Outcome = ToolDenied
	}
	done.Result = t.cut(explain(err))
	return done
}

// ErrToolTimeout: a tool call took longer than the limit.
var ErrToolTimeout = errors.New("tool call timed out")

func (t *turn) invoke(ctx context.Context, op *tools.Operation, call ToolCall) (tools.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.opts.ToolTimeout, fmt.Errorf("%w after %s", ErrToolTimeout, t.opts.ToolTimeout))
	defer cancel()
	res, err := t.gate.Invoke(ctx, t.agent.Authority.InSession(t.session.id), tools.Invocation{
		Operation: op.Path(), Input: json.RawMessage(call.Arguments), ID: call.ID,
	})
	if err != nil && errors.Is(context.Cause(ctx), ErrToolTimeout) {
		return res, context.Cause(ctx)
	}
	return res, err
}

// tool finds the operation behind a name that the model used: among all of the
// agent's tools, not only those on offer, so that a call beyond the
// capabilities gets its denial, and the ledger its row.
func (t *turn) tool(name string) (*tools.Operation, error) {
	for _, op := range t.agent.Tools {
		if op.ToolName() == name || op.Name() == name || op.Path() == name {
			return op, nil
		}
	}
	names := make([]string, len(t.agent.Tools))
	for i, op := range t.agent.Tools {
		names[i] = op.ToolName()
	}
	slices.Sort(names)
	text := fmt.Sprintf("there is no tool %q here; ", name)
	if len(names) == 0 {
		return nil, errors.New(text + "you have no tools: answer in text")
	}
	return nil, errors.New(text + "the tools are " + strings.Join(names, ", "))
}

// explain is the structured message that a model gets for an error. A denial
// is explained by its own form.
func explain(err error) json.RawMessage {
	if denial, ok := errors.AsType[*caps.Denial](err); ok {
		if raw, err := json.Marshal(denial); err == nil {
			return raw
		}
	}
	type explanation struct {
		Error     string `json:"error"`
		Message   string `json:"message"`
		Retryable bool   `json:"retryable"`
	}
	out := explanation{Error: "failed", Message: err.Error()}
	var input *tools.InputError
	var notFound *tools.NotFoundError
	switch {
	case errors.As(err, &input):
		out.Error, out.Retryable = "invalid_input", true
	case errors.As(err, &notFound):
		out.Error, out.Retryable = "not_found", true
	case errors.Is(err, ErrToolTimeout):
		out.Error, out.Retryable = "timeout", true
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`{"error":"failed"}`)
	}
	return raw
}

// cut keeps a tool's result within the limit, and says so when it does not fit.
func (t *turn) cut(raw json.RawMessage) string {
	if len(raw) <= t.opts.MaxToolResult {
		return string(raw)
	}
	end := t.opts.MaxToolResult
	for end > 0 && !utf8.RuneStart(raw[end]) {
		end--
	}
	keep := string(raw[:end])
	return keep + fmt.Sprintf("\n[cut: this is the first %d of %d bytes; ask for a part, for example with covia_slice or a deeper path]", len(keep), len(raw))
}
