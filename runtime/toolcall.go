package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
)

// callTools runs the calls of one answer, side by side where that makes no
// difference. The results come in the order of the calls.
func (t *turn) callTools(ctx context.Context, calls []ToolCall) error {
	batches, err := t.batches(ctx, calls)
	if err != nil {
		return err
	}
	for _, batch := range batches {
		for _, w := range batch {
			if err := t.record(ctx, ToolStarted{Call: w.ToolCall}); err != nil {
				return err
			}
		}
		if err := t.callBatch(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) callBatch(ctx context.Context, batch []wish) error {
	if len(batch) == 1 {
		return t.called(ctx, t.guarded(ctx, batch[0]))
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	places := make(chan struct{}, t.opts.ToolsAtOnce)
	done := make([]chan ToolFinished, len(batch))
	for i, w := range batch {
		done[i] = make(chan ToolFinished, 1)
		work.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			done[i] <- t.guarded(ctx, w)
		})
	}
	for i := range batch {
		if err := t.called(ctx, <-done[i]); err != nil {
			return err
		}
	}
	return nil
}

// guarded calls a tool and makes a result of a panic, which the gate does not
// see where it comes of what the tool returned: an error that panics when it is
// asked what it says.
func (t *turn) guarded(ctx context.Context, w wish) (done ToolFinished) {
	defer func() {
		if v := recover(); v != nil {
			done = ToolFinished{CallID: w.ID, Name: w.Name, Outcome: ToolFailed, Sealed: w.op != nil && w.op.Sealed(), Result: string(explain(errors.New("the tool failed inside")))}
		}
	}()
	return t.callTool(ctx, w)
}

// called records a result, unless the turn was stopped meanwhile: what the
// call then did is not known.
func (t *turn) called(ctx context.Context, done ToolFinished) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.record(ctx, done)
}

// callTool takes one wish of the model to the gate. Whatever comes of it is
// told to the model.
func (t *turn) callTool(ctx context.Context, w wish) ToolFinished {
	ctx, span := t.observeTool(ctx, &w)
	done, err := t.attempt(ctx, &w)
	endTool(ctx, span, &done, err)
	return done
}

func (t *turn) attempt(ctx context.Context, w *wish) (ToolFinished, error) {
	done := ToolFinished{CallID: w.ID, Name: w.Name}
	err := w.err
	if err == nil {
		done.Operation, done.Sealed = w.op.Path(), w.op.Sealed()
		var res tools.Result
		res, err = t.invoke(ctx, t.agent.Authority.InSession(t.session.id), tools.Invocation{
			Operation: w.op.Reference(), Input: json.RawMessage(w.Arguments), ID: w.ID,
		})
		if done.Sealed {
			t.span.Conceal(w.Arguments, string(res.Output))
		}
		if err == nil {
			done.Outcome, done.Result = ToolOK, t.cut(res.Output)
			return done, nil
		}
	}
	done.Outcome = ToolFailed
	if _, ok := errors.AsType[*caps.Denial](err); ok {
		done.Outcome = ToolDenied
	}
	done.Result = t.cut(explain(err))
	return done, err
}

// ErrToolTimeout: a tool call took longer than the limit.
var ErrToolTimeout = fault.New(fault.Timeout, "tool call timed out")

// invoke takes one call to the gate, within the time of a tool call.
func (r *Runner) invoke(ctx context.Context, auth tools.Authority, inv tools.Invocation) (tools.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.opts.ToolTimeout, r.late)
	defer cancel()
	res, err := r.gate.Invoke(ctx, auth, inv)
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
		return nil, fault.New(fault.NotFound, text+"you have no tools: answer in text")
	}
	return nil, fault.New(fault.NotFound, text+"the tools are "+strings.Join(names, ", "))
}

// explain is the structured message that a model gets for an error. A denial
// is explained by its own form.
func explain(err error) json.RawMessage {
	if denial, ok := errors.AsType[*caps.Denial](err); ok {
		if raw, err := json.Marshal(denial); err == nil {
			return raw
		}
	}
	code := fault.Of(err)
	out := struct {
		Error     fault.Code `json:"error"`
		Message   string     `json:"message"`
		Retryable bool       `json:"retryable"`
		Details   any        `json:"details,omitempty"`
	}{Error: code, Message: err.Error(), Retryable: code.Retryable()}
	if detailed, ok := errors.AsType[fault.Detailed](err); ok && detailed.Code() == code {
		out.Details = detailed.Details()
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`{"error":"failed"}`)
	}
	return raw
}

// cut keeps a tool's result within the limit, and says so when it does not fit.
func (r *Runner) cut(raw json.RawMessage) string {
	if len(raw) <= r.opts.MaxToolResult {
		return string(raw)
	}
	end := r.opts.MaxToolResult
	for end > 0 && !utf8.RuneStart(raw[end]) {
		end--
	}
	keep := string(raw[:end])
	return keep + fmt.Sprintf("\n[cut: this is the first %d of %d bytes; ask for a part, for example with covia_slice or a deeper path]", len(keep), len(raw))
}
