package runtime

import (
	"context"

	"usher/runtime/telemetry"
)

// observed starts the turn's span.
func (t *turn) observed(ctx context.Context) context.Context {
	tel, auth := t.opts.Telemetry, t.agent.Authority
	if tel == nil {
		return ctx
	}
	r := runOf(ctx)
	ctx, t.span = tel.StartTurn(ctx, telemetry.Turn{
		Agent: t.agent.ID, Owner: auth.Owner().String(), Session: t.session.id, Job: auth.Run(),
		Provider: Describe(t.agent.Model).Provider, Secrets: r.secrets,
	})
	r.secrets = t.span.Secrets()
	return r.in(ctx)
}

// observeModel starts the span of a model call.
func (t *turn) observeModel(ctx context.Context, req *Request) (context.Context, *telemetry.ModelSpan) {
	if t.span == nil {
		return ctx, nil
	}
	about := Describe(t.agent.Model)
	ctx, span := t.span.StartModelCall(ctx, telemetry.ModelCall{
		Provider: about.Provider, Model: about.Model, Server: about.Server, JSON: len(req.Output) > 0,
	})
	if span.Content() {
		conversation := t.observedMessages(req.Messages)
		if t.notesOnSecrets(req) {
			for i := range conversation {
				conversation[i].Text = redacted
			}
		}
		span.Input(req.System, conversation)
	}
	return ctx, span
}

// observedAnswer is an answer for the span of its model call.
func (t *turn) observedAnswer(span *telemetry.ModelSpan, req *Request, a *Answered) telemetry.Answer {
	out := telemetry.Answer{Model: a.Model, Finish: a.Finish, Usage: a.Usage}
	if span.Content() {
		out.Message = observedMessage(&Message{Text: a.Text, Calls: a.Calls})
		t.sealCalls(&out.Message)
		if t.notesOnSecrets(req) {
			out.Message.Text = redacted
		}
	}
	return out
}

func observedMessage(m *Message) telemetry.Message {
	out := telemetry.Message{Role: m.Role, Text: m.Text, CallID: m.CallID}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, telemetry.MessageCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// observeTool starts the span of a tool call. A name that no tool has is the
// model's text.
func (t *turn) observeTool(ctx context.Context, w *wish) (context.Context, *telemetry.ToolSpan) {
	call := telemetry.ToolCall{ID: w.ID, Arguments: w.Arguments}
	if w.op != nil {
		call.Name, call.Operation = w.op.ToolName(), w.op.Path()
	}
	return t.span.StartToolCall(ctx, call)
}

// endTool ends the span of a tool call.
func endTool(ctx context.Context, span *telemetry.ToolSpan, done *ToolFinished, err error) {
	if span == nil {
		return
	}
	outcome := done.Outcome
	if ctx.Err() != nil {
		outcome = ToolStopped // as the turn was
	}
	if done.Sealed {
		span.Seal()
	}
	span.End(outcome, done.Result, err)
}
