package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// fail marks the span as failed and returns the error's class. What the error
// says is content.
func (t *Telemetry) fail(span trace.Span, err error, s *secrets) attribute.KeyValue {
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
func (t *Telemetry) failure(err error, s *secrets) []slog.Attr {
	set := []slog.Attr{slog.String("failure", errorType(err).Value.AsString())}
	if t.content {
		set = append(set, slog.String("error", s.scrub(err.Error())))
	}
	return set
}

// ErrorClass is the class that an error has in traces, where that is a word of
// its own and not the name of a Go type; "" otherwise.
func ErrorClass(err error) string {
	if err == nil {
		return ""
	}
	class := errorType(err).Value.AsString()
	if strings.HasPrefix(class, "*") || class == semconv.ErrorTypeOther.Value.AsString() {
		return ""
	}
	return class
}

// errorType is the class of an error: what its method ErrorType or Code says,
// or the name of its Go type. There are few of them, and none quotes anything.
func errorType(err error) attribute.KeyValue {
	var classed interface{ ErrorType() string }
	var coded interface{ Code() string }
	switch {
	case errors.As(err, &classed) && classed.ErrorType() != "":
		return semconv.ErrorTypeKey.String(brief(classed.ErrorType()))
	case errors.As(err, &coded) && coded.Code() != "":
		return semconv.ErrorTypeKey.String(brief(coded.Code()))
	case errors.Is(err, context.Canceled):
		return semconv.ErrorTypeKey.String("canceled")
	case errors.Is(err, context.DeadlineExceeded):
		return semconv.ErrorTypeKey.String("timeout")
	}
	name := semconv.ErrorType(err)
	if text := name.Value.AsString(); strings.HasPrefix(text, "*errors.") || strings.HasPrefix(text, "*fmt.") {
		return semconv.ErrorTypeOther // a type that says nothing
	}
	return name
}
