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
