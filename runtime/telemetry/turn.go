package telemetry

import (
	"context"
	"log/slog"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"usher/tools/spend"
)

// Turn is a turn of an agent. Empty fields are not recorded.
type Turn struct {
	Agent    string // its id, which is its name too
	Owner    string // DID of the principal that it works as
	Session  string
	Job      string
	Provider string // of its model

	Secrets *Secrets // of the turn that started it; nil has none
}

// TurnSpan is a turn while it runs. Nil is valid.
type TurnSpan struct {
	t       *Telemetry
	span    trace.Span
	about   Turn
	secrets *Secrets
}

// StartTurn begins the span "invoke_agent AGENT". What the turn does belongs
// below the context that it returns.
func (t *Telemetry) StartTurn(ctx context.Context, turn Turn) (context.Context, *TurnSpan) {
	if t == nil {
		return ctx, nil
	}
	provider := turn.Provider
	if provider == "" {
		provider = unknownProvider
	}
	set := attributes{semconv.GenAIOperationNameInvokeAgent, semconv.GenAIProviderNameKey.String(provider)}
	set.text(semconv.GenAIAgentNameKey, turn.Agent)
	set.text(semconv.GenAIAgentIDKey, turn.Agent)
	set.text(semconv.GenAIConversationIDKey, turn.Session)
	set.text(ownerKey, turn.Owner)
	set.text(jobKey, turn.Job)
	ctx, span := t.tracer.Start(ctx, named("invoke_agent", turn.Agent), trace.WithAttributes(set...), trace.WithSpanKind(trace.SpanKindInternal))
	s := &TurnSpan{t: t, span: span, about: turn, secrets: turn.Secrets}
	if t.content && s.secrets == nil {
		s.secrets = new(Secrets)
	}
	if t.log.Enabled(ctx, slog.LevelDebug) {
		t.log.LogAttrs(ctx, slog.LevelDebug, "turn started", turn.ids()...)
	}
	return ctx, s
}

// Secrets are those of the turn, for the turns that it starts.
func (s *TurnSpan) Secrets() *Secrets {
	if s == nil {
		return nil
	}
	return s.secrets
}

// End closes the turn with what its model calls used together. err is why it
// failed, or nil.
func (s *TurnSpan) End(ctx context.Context, calls int, usage spend.Usage, err error) {
	if s == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	set := attributes{callsKey.Int(calls)}
	set.usage(usage)
	s.span.SetAttributes(set...)
	if err != nil {
		s.t.fail(s.span, err, s.secrets)
		s.t.log.LogAttrs(ctx, slog.LevelWarn, "turn failed", append(s.about.ids(), s.t.failure(err, s.secrets)...)...)
	} else if s.t.log.Enabled(ctx, slog.LevelDebug) {
		s.t.log.LogAttrs(ctx, slog.LevelDebug, "turn finished", append(s.about.ids(),
			slog.Int("calls", calls), slog.Int("input", usage.Input), slog.Int("output", usage.Output))...)
	}
	s.span.End()
}

func (t Turn) ids() []slog.Attr {
	ids := []slog.Attr{slog.String("agent", t.Agent), slog.String("session", t.Session)}
	if t.Job != "" {
		ids = append(ids, slog.String("job", t.Job))
	}
	return ids
}

// named is a span's name by the conventions: what it is about follows where it
// is known.
func named(operation, subject string) string {
	if subject == "" {
		return operation
	}
	return operation + " " + subject
}
