package runtime

import (
	"context"

	"usher/caps/value"
	"usher/runtime/telemetry"
)

// observe starts the turn's span.
func (t *turn) observe(ctx context.Context) context.Context {
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
		conversation := make([]telemetry.Message, len(req.Messages))
		for i := range req.Messages {
			conversation[i] = t.traceMessage(req, &req.Messages[i])
		}
		span.Input(req.System, conversation)
	}
	return ctx, span
}

// traceAnswer is the answer to a request, for the span of its model call.
func (t *turn) traceAnswer(span *telemetry.ModelSpan, req *Request, a *ModelAnswer) telemetry.Answer {
	out := telemetry.Answer{Model: a.Model, Finish: a.Finish, Usage: a.Usage}
	if span.Content() {
		out.Message = t.traceMessage(req, &Message{Text: a.Text, Calls: a.Calls})
	}
	return out
}

// redacted stands in a trace for what a sealed operation was given, and gave.
const redacted = `"` + value.Redacted + `"`

// traceMessage is a message of a request, or of the answer to it, for a trace:
// without what sealed operations were given and gave. In notes on what may hold
// secrets these cannot be told from the rest.
func (t *turn) traceMessage(req *Request, m *Message) telemetry.Message {
	out := telemetry.Message{Role: m.Role, Text: m.Text, CallID: m.CallID}
	if m.Sealed {
		t.span.Conceal(m.Text)
	}
	if m.Sealed || req.System == summarising && t.session.secret() {
		out.Text = redacted
	}
	for _, c := range m.Calls {
		if c.Sealed {
			t.span.Conceal(c.Arguments)
			c.Arguments = redacted
		}
		out.Calls = append(out.Calls, telemetry.MessageCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}
