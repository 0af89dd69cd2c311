package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"usher/runtime/telemetry"
	"usher/tools"
	"usher/tools/fault"
)

// callTools runs the calls of one answer, side by side where that makes no
// difference. The results come in the order of the calls.
func (t *turn) callTools(ctx context.Context, calls []ToolCall) error {
	if !slices.ContainsFunc(calls, func(c ToolCall) bool { return c.Client || t.isEnding(c) }) {
		return t.callOthers(ctx, calls)
	}
	var others, ends, clients []ToolCall
	for _, call := range calls {
		switch {
		case call.Client:
			clients = append(clients, call)
		case t.isEnding(call):
			ends = append(ends, call)
		default:
			others = append(others, call)
		}
	}
	if len(others) > 0 {
		if err := t.callOthers(ctx, others); err != nil {
			return err
		}
	}
	if err := t.end(ctx, ends); err != nil {
		return err
	}
	return t.handOver(ctx, clients)
}

// callOthers makes the calls that do not end a task.
func (t *turn) callOthers(ctx context.Context, calls []ToolCall) error {
	batches, err := t.batches(ctx, calls)
	if err != nil {
		return err
	}
	for _, batch := range batches {
		for _, w := range batch {
			if err := t.record(ctx, ToolStart{Call: w.ToolCall, Idempotent: w.op == nil || w.op.Repeatable()}); err != nil {
				return err
			}
		}
		if err := t.callBatch(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) callBatch(whole context.Context, batch []wish) (failed error) {
	if len(batch) == 1 {
		if err := t.recordCall(whole, t.callTool(whole, &batch[0])); err != nil {
			return err
		}
		return t.restError()
	}
	ctx, cancel := context.WithCancel(whole)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	places := make(chan struct{}, t.opts.ToolsAtOnce)
	done := make([]chan ToolEnd, len(batch))
	for i := range batch {
		done[i] = make(chan ToolEnd, 1)
		work.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			done[i] <- t.callTool(ctx, &batch[i])
		})
	}
	for i := range batch {
		if err := t.recordCall(whole, <-done[i]); err != nil && failed == nil {
			failed = err
			cancel()
		}
	}
	if failed == nil {
		failed = t.restError()
	}
	return failed
}

// recordCall records a result. Of a call that did not succeed while the turn was
// stopped it is not known what it did; one that did has its result all the same.
func (t *turn) recordCall(ctx context.Context, done ToolEnd) error {
	stopped := ctx.Err()
	switch {
	case done.Outcome == "":
		return stopped // it goes on later
	case stopped == nil:
		return t.record(ctx, done)
	case done.Outcome == ToolOK:
		return cmp.Or(t.record(context.WithoutCancel(ctx), done), stopped)
	}
	return stopped
}

// callTool takes one wish of the model to the gate. Whatever comes of it is told
// to the model: also of a panic that the gate does not see, where an error that
// the tool returned panics when it is asked what it says.
func (t *turn) callTool(ctx context.Context, w *wish) (done ToolEnd) {
	done = ToolEnd{CallID: w.ID, Name: w.Name}
	call := telemetry.ToolCall{ID: w.ID, Arguments: w.Arguments}
	if w.op != nil { // a name that no tool has is the model's text
		done.Operation, done.Sealed = w.op.Path(), w.op.IsSealed()
		call.Name, call.Operation = w.op.ToolName(), done.Operation
	}
	ctx, end := t.span.StartToolCall(ctx, call)
	err := w.err
	defer func() {
		if recover() != nil {
			err = errors.New("the tool failed inside")
			done.Outcome, done.Result = ToolFailed, string(tools.Explain(err))
		}
		outcome := done.Outcome
		if ctx.Err() != nil && outcome != ToolOK {
			outcome = ToolStopped // as the turn was
		}
		end(outcome, done.Result, done.Sealed, err)
	}()
	if err == nil {
		var res tools.Result
		res, err = t.invoke(ctx, t.agent.Authority.InSession(t.session.id), tools.Invocation{
			Operation: w.op.Reference(), Input: json.RawMessage(w.Arguments), Call: w.ID, At: w.at,
		})
		if done.Sealed {
			t.span.Conceal(w.Arguments, string(res.Output))
		}
		if err == nil {
			done.Outcome, done.Result = ToolOK, t.cut(res.Output)
			return done
		}
	}
	if t.waits(w, err) {
		return done
	}
	done.Outcome = ToolFailed
	switch fault.Of(err) {
	case fault.Denied:
		done.Outcome = ToolDenied
	case fault.Unknown:
		done.Outcome = ToolUnknown
	}
	done.Result = t.cut(tools.Explain(err))
	return done
}

// WithoutRecord is the result of a call whose outcome could not be recorded, and why not:
// nobody is told more of it.
func (done ToolEnd) WithoutRecord(why error) ToolEnd {
	done.Outcome, done.Result = ToolUnknown, string(tools.Explain(tools.UnknownOutcome(done.Operation, nil, why)))
	return done.discreet()
}

// errToolTimeout: a tool call took longer than the limit.
var errToolTimeout = fault.New(fault.Timeout, "tool call timed out")

// invoke takes one call to the gate, within the time of a tool call.
func (r *Runner) invoke(ctx context.Context, auth tools.Authority, inv tools.Invocation) (tools.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.opts.ToolTimeout, r.late)
	defer cancel()
	res, err := r.gate.Invoke(ctx, auth, inv)
	if err != nil && errors.Is(context.Cause(ctx), errToolTimeout) && fault.Of(err) != fault.Unknown {
		return res, context.Cause(ctx) // it has not begun, or may be repeated
	}
	return res, err
}

// tool finds the operation behind a name that the model used: among all of the
// agent's tools, not only those on offer, so that a call beyond the
// capabilities gets its denial, and the ledger its row.
func (t *turn) tool(name string) (*tools.Operation, error) {
	for _, op := range t.agent.Tools {
		if isCalled(op, name) {
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

// cut keeps a tool's result within the limit, and says so when it does not fit.
func (r *Runner) cut(raw json.RawMessage) string {
	text := string(raw[:min(len(raw), r.opts.MaxToolResult)])
	for jsonSize(text) > maxEncoded {
		text = text[:len(text)/2]
	}
	if len(text) == len(raw) {
		return text
	}
	end := len(text)
	for end > 0 && !utf8.RuneStart(raw[end]) {
		end--
	}
	keep := string(raw[:end])
	return keep + fmt.Sprintf("\n[cut: this is the first %d of %d bytes; ask for a part, for example with covia_slice or a deeper path]", len(keep), len(raw))
}
