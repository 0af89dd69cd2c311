package telemetry

import (
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"usher/tools/fault"
)

// fail marks the span as failed and returns the error's class. What the error
// says is content.
func (t *Telemetry) fail(span trace.Span, err error, s *Secrets) attribute.KeyValue {
	class := errorType(err)
	description := ""
	if t.content {
		description = s.scrub(err.Error())
	}
	span.SetAttributes(class)
	span.SetStatus(codes.Error, description)
	return class
}

// failure tells an error to the log, as fail does to a span.
func (t *Telemetry) failure(err error, s *Secrets) []slog.Attr {
	set := []slog.Attr{slog.String("failure", errorType(err).Value.AsString())}
	if t.content {
		set = append(set, slog.String("error", s.scrub(err.Error())))
	}
	return set
}

// errorType is the code of an error, as the conventions spell it: one that has
// none is "_OTHER".
func errorType(err error) attribute.KeyValue {
	if code := fault.Of(err); code != fault.Failed {
		return semconv.ErrorTypeKey.String(brief(string(code)))
	}
	return semconv.ErrorTypeOther
}
