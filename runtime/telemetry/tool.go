package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"usher/caps/value"
)

// ToolCall is one tool call that a model asked for. Empty fields are not
// recorded.
type ToolCall struct {
	Name      string // of a tool that there is: what else a model writes there is its text
	Operation string // catalogue path
	ID        string // the call's id
	Arguments string // recorded where [Options.Content] asks for it
}

// ToolSpan is a tool call while it runs. Nil is valid.
type ToolSpan struct {
	turn      *TurnSpan // that it belongs to
	span      trace.Span
	arguments string
	sealed    bool
}

// StartToolCall begins the span "execute_tool TOOL". The gate's decision and
// what the tool does belong below the context that it returns.
func (s *TurnSpan) StartToolCall(ctx context.Context, call ToolCall) (context.Context, *ToolSpan) {
	if s == nil {
		return ctx, nil
	}
	set := attributes{semconv.GenAIToolType("function")}
	set.text(semconv.GenAIToolNameKey, call.Name)
	set.text(semconv.GenAIToolCallIDKey, brief(call.ID))
	set.text(operationKey, call.Operation)
	ctx, span := s.start(ctx, semconv.GenAIOperationNameExecuteTool, call.Name, trace.SpanKindInternal, set)
	return ctx, &ToolSpan{turn: s, span: span, arguments: call.Arguments}
}

// Seal leaves out what the call was given and what came of it, of which no part
// may be told.
func (s *ToolSpan) Seal() {
	if s != nil {
		s.sealed = true
	}
}

// End closes the call with its outcome, "ok", "denied", "failed" or "stopped".
// result is what the model is told; err is why the call did not succeed, or nil.
func (s *ToolSpan) End(outcome, result string, err error) {
	if s == nil {
		return
	}
	set := attributes{outcomeKey.String(outcome)}
	if s.turn.t.content {
		set.text(semconv.GenAIToolCallArgumentsKey, s.shown(s.arguments))
	}
	switch {
	case err != nil && s.sealed:
		s.span.SetAttributes(errorType(err))
		s.span.SetStatus(codes.Error, "")
	case err != nil:
		s.turn.fail(s.span, err)
	case s.turn.t.content: // by the conventions a result is one of success
		set.text(semconv.GenAIToolCallResultKey, s.shown(result))
	}
	s.span.SetAttributes(set...)
	s.span.End()
}

func (s *ToolSpan) shown(text string) string {
	if s.sealed {
		return value.Redacted
	}
	return s.turn.secrets.scrub(text)
}
