// Package telemetry tells OpenTelemetry what turns do, in the words of the
// semantic conventions for generative AI: a span for the turn, one for each
// model call and each tool call in it, and the metrics of model calls. [New]
// makes a [Telemetry]; a nil one is off, and costs nothing. [Handler] puts the
// ids of spans into log lines.
//
// The conventions are in development. These are the names of version 1.41, the
// last that has a package of constants in OpenTelemetry's Go module. What the
// conventions have no name for begins with "usher.".
//
// Names, ids, counts and outcomes are recorded; what was said is not, unless
// [Options.Content] asks for it. That holds for the texts of errors too: they
// quote what they are about. Without it an error is its class, "error.type".
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"usher/tools/spend"
)

// Options says where telemetry goes. The zero value is nowhere.
type Options struct {
	Tracer trace.TracerProvider // spans; nil makes none
	Meter  metric.MeterProvider // metrics; nil makes none

	// Content records what is said: system messages, conversations, tool
	// arguments and results, the texts of errors, those in the log included. It is
	// as sensitive as the data of the venue. What sealed operations were given and
	// gave is left out (see [TurnSpan.Conceal]). False records none of it.
	Content bool
}

// Telemetry records turns. Nil records nothing. It is safe for concurrent use.
type Telemetry struct {
	tracer  trace.Tracer
	meters  meters
	content bool
	log     *slog.Logger
	used    tally
}

// scope names this instrumentation in what it exports.
const scope = "usher/runtime"

// New returns the telemetry that opts ask for. log gets a line for each turn
// that failed; nil is nobody. Where nothing is asked for the telemetry is nil,
// which is valid.
func New(opts Options, log *slog.Logger) (*Telemetry, error) {
	if log != nil && !log.Enabled(context.Background(), slog.LevelError) {
		log = nil // it discards everything
	}
	if opts.Tracer == nil && opts.Meter == nil && log == nil {
		return nil, nil
	}
	if opts.Tracer == nil {
		opts.Tracer = tracenoop.NewTracerProvider()
	}
	if opts.Meter == nil {
		opts.Meter = metricnoop.NewMeterProvider()
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m, err := newMeters(opts.Meter.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	if err != nil {
		return nil, fmt.Errorf("make the metrics of model calls: %w", err)
	}
	return &Telemetry{
		tracer: opts.Tracer.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		meters: m, content: opts.Content, log: log,
	}, nil
}

// Attributes that the conventions have no name for.
const (
	ownerKey     = attribute.Key("usher.owner")     // DID whose namespace the agent works in
	jobKey       = attribute.Key("usher.job")       // the job that the turn belongs to
	operationKey = attribute.Key("usher.operation") // catalogue path
	outcomeKey   = attribute.Key("usher.outcome")   // of a tool call: ok, denied, failed, unknown, stopped
	callsKey     = attribute.Key("usher.model.calls")
	costKey      = attribute.Key("usher.model.cost") // in the unit of the price table
)

// attributes collects what is known: an empty value is not recorded.
type attributes []attribute.KeyValue

func (a *attributes) text(key attribute.Key, value string) {
	if value != "" {
		*a = append(*a, key.String(value))
	}
}

func (a *attributes) list(key attribute.Key, values []string) {
	if len(values) > 0 {
		*a = append(*a, key.StringSlice(values))
	}
}

// maxName bounds a name or an id that somebody else has given, in bytes.
const maxName = 128

// brief cuts such a name: it must not make a trace as long as its author likes.
func brief(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "…"
}

func (a *attributes) usage(u spend.Usage) {
	if u.Input == 0 && u.Output == 0 {
		return // the provider does not say
	}
	*a = append(*a, semconv.GenAIUsageInputTokens(u.Input), semconv.GenAIUsageOutputTokens(u.Output))
	if u.CacheRead > 0 {
		*a = append(*a, semconv.GenAIUsageCacheReadInputTokens(u.CacheRead))
	}
	if u.CacheWrite > 0 {
		*a = append(*a, semconv.GenAIUsageCacheCreationInputTokens(u.CacheWrite))
	}
	if u.Cost > 0 {
		*a = append(*a, costKey.Float64(cost(u)))
	}
}

// cost is in the unit of the prices.
func cost(u spend.Usage) float64 { return float64(u.Cost) / 1e6 }

// Handler returns a handler that passes records on to h with the ids of the
// context's span, where it has one, as "trace_id" and "span_id": within the
// group that is open, if one is.
func Handler(h slog.Handler) slog.Handler { return spanHandler{h} }

type spanHandler struct{ slog.Handler }

var _ slog.Handler = spanHandler{}

func (h spanHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h spanHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return spanHandler{h.Handler.WithAttrs(attrs)}
}

func (h spanHandler) WithGroup(name string) slog.Handler {
	return spanHandler{h.Handler.WithGroup(name)}
}
