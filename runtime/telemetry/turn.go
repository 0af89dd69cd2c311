package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"usher/caps/value"
	"usher/tools/fault"
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
	set := attributes{semconv.GenAIProviderNameKey.String(cmp.Or(turn.Provider, unknownProvider))}
	set.text(semconv.GenAIAgentIDKey, turn.Agent)
	set.text(ownerKey, turn.Owner)
	set.text(jobKey, turn.Job)
	s := &TurnSpan{t: t, about: turn, secrets: turn.Secrets}
	ctx, s.span = s.start(ctx, semconv.GenAIOperationNameInvokeAgent, turn.Agent, trace.SpanKindInternal, set)
	if t.content && s.secrets == nil {
		s.secrets = &Secrets{texts: make(map[string]bool)}
	}
	return ctx, s
}

// start begins a span of the turn. By the conventions its name is the operation's,
// and what it is about, where that is known.
func (s *TurnSpan) start(ctx context.Context, operation attribute.KeyValue, subject string, kind trace.SpanKind, set attributes) (context.Context, trace.Span) {
	set = append(set, operation)
	set.text(semconv.GenAIAgentNameKey, s.about.Agent)
	set.text(semconv.GenAIConversationIDKey, s.about.Session)
	name := strings.TrimSpace(operation.Value.AsString() + " " + subject)
	return s.t.tracer.Start(ctx, name, trace.WithAttributes(set...), trace.WithSpanKind(kind))
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
	set := attributes{callsKey.Int(calls)}
	set.usage(usage)
	s.span.SetAttributes(set...)
	if err != nil {
		class, text := s.fail(s.span, err)
		about := []slog.Attr{slog.String("agent", s.about.Agent), slog.String("session", s.about.Session), slog.String("failure", class.Value.AsString())}
		if s.about.Job != "" {
			about = append(about, slog.String("job", s.about.Job))
		}
		if text != "" {
			about = append(about, slog.String("error", text))
		}
		s.t.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelWarn, "turn failed", about...)
	}
	s.span.End()
}

// fail marks a span of the turn as failed, and returns the error's class. What
// the error says is content: the text is empty where that is not recorded.
func (s *TurnSpan) fail(span trace.Span, err error) (class attribute.KeyValue, text string) {
	class = errorType(err)
	if s.t.content {
		text = s.secrets.scrub(err.Error())
	}
	span.SetAttributes(class)
	span.SetStatus(codes.Error, text)
	return class, text
}

// errorType is the code of an error, as the conventions spell it: one that has
// none is "_OTHER".
func errorType(err error) attribute.KeyValue {
	if code := fault.Of(err); code != fault.Failed {
		return semconv.ErrorTypeKey.String(brief(string(code)))
	}
	return semconv.ErrorTypeOther
}

// ToolCall is one tool call that a model asked for. Empty fields are not
// recorded.
type ToolCall struct {
	Name      string // of a tool that there is: what else a model writes there is its text
	Operation string // catalogue path
	ID        string // the call's id
	Arguments string // recorded where [Options.Content] asks for it
}

// StartToolCall begins the span "execute_tool TOOL". The gate's decision and what
// the tool does belong below the context that it returns. end closes the call with
// its outcome, "ok", "denied", "failed", "unknown" or "stopped"; result is what the model is
// told; err is why the call did not succeed, or nil. Of a sealed call no part of
// what went in and came out is told.
func (s *TurnSpan) StartToolCall(ctx context.Context, call ToolCall) (_ context.Context, end func(outcome, result string, sealed bool, err error)) {
	if s == nil {
		return ctx, func(string, string, bool, error) {}
	}
	set := attributes{semconv.GenAIToolType("function")}
	set.text(semconv.GenAIToolNameKey, call.Name)
	set.text(semconv.GenAIToolCallIDKey, brief(call.ID))
	set.text(operationKey, call.Operation)
	ctx, span := s.start(ctx, semconv.GenAIOperationNameExecuteTool, call.Name, trace.SpanKindInternal, set)
	return ctx, func(outcome, result string, sealed bool, err error) {
		defer span.End()
		set := attributes{outcomeKey.String(outcome)}
		shown := s.secrets.scrub
		if sealed {
			shown = func(string) string { return value.Redacted }
		}
		if s.t.content {
			set.text(semconv.GenAIToolCallArgumentsKey, shown(call.Arguments))
		}
		switch {
		case err != nil && sealed:
			span.SetAttributes(errorType(err))
			span.SetStatus(codes.Error, "")
		case err != nil:
			s.fail(span, err)
		case s.t.content: // by the conventions a result is one of success
			set.text(semconv.GenAIToolCallResultKey, shown(result))
		}
		span.SetAttributes(set...)
	}
}
