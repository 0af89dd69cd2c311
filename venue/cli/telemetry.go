package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// What is refused is sent again for less time than a command waits at its end,
// so that one hears what the collector says.
const (
	flushTime = 3 * time.Second
	retryTime = 2 * time.Second
	retryWait = retryTime / 4
)

// patience is how long a command waits at its end for the collector:
// OpenTelemetry's own variable says it, in milliseconds.
func (s *streams) patience() time.Duration {
	if ms, err := strconv.Atoi(s.getenv("OTEL_EXPORTER_OTLP_TIMEOUT")); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return flushTime
}

// observe starts the export of traces and metrics that OpenTelemetry's
// environment variables ask for, by OTLP over HTTP, and returns what ends it.
// The exporters read the rest of their variables themselves. A collector that
// takes nothing is worth a note at the end, and fails no command.
func (s *streams) observe(ctx context.Context) (end func()) {
	traces, metrics := s.isExported("TRACES"), s.isExported("METRICS")
	if !traces && !metrics || s.upVenue() != nil { // which was opened with its own
		return func() {}
	}
	e := &export{wait: s.patience()}
	end = func() {
		if err := e.end(ctx); err != nil {
			s.warn("telemetry was not delivered: " + err.Error())
		}
	}
	if err := s.checkExport(); err != nil {
		e.keepError(err)
		return end
	}
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("usher"), semconv.ServiceVersion(version())),
		resource.WithFromEnv(), // wins over the above
	)
	e.keepError(err)
	if traces {
		to, err := otlptracehttp.New(ctx, otlptracehttp.WithRetry(retry))
		e.keepError(err)
		p := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(spanExporter{to, e}))
		s.telemetry.Tracer, e.stops = p, append(e.stops, p.Shutdown)
	}
	if metrics {
		to, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig(retry)))
		e.keepError(err)
		p := sdkmetric.NewMeterProvider(sdkmetric.WithResource(res), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter{to, e})))
		s.telemetry.Meter, e.stops = p, append(e.stops, p.Shutdown)
	}
	switch strings.ToLower(s.getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")) {
	case "true", "span_only", "span_and_event": // the values that mean spans, old and new
		s.telemetry.Content = true
	}
	return end
}

// checkExport finds what the exporters would complain of, each for itself and in
// the middle of the screen. An address may have a password in it.
func (s *streams) checkExport() error {
	if s.getenv("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc" {
		return errors.New("it is sent over HTTP only: set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf, and the endpoint to the collector's HTTP port, often 4318")
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"} {
		value := s.getenv(name)
		if value == "" {
			continue
		}
		if to, err := url.Parse(value); err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
			return fmt.Errorf("%s is not an address: write one such as http://localhost:4318", name)
		}
	}
	return nil
}

// isExported says whether the environment asks for a signal.
func (s *streams) isExported(signal string) bool {
	if strings.EqualFold(s.getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	if exporter := s.getenv("OTEL_" + signal + "_EXPORTER"); exporter != "" {
		return exporter == "otlp"
	}
	return s.getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || s.getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// export is what sends telemetry, while it does.
type export struct {
	wait  time.Duration // at the end
	stops []func(context.Context) error

	mu    sync.Mutex // guards first
	first error
}

var retry = otlptracehttp.RetryConfig{Enabled: true, InitialInterval: retryWait, MaxInterval: retryWait, MaxElapsedTime: retryTime}

// end sends what is left and returns the first error of all.
func (e *export) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), e.wait, fmt.Errorf("the collector did not answer within %s", e.wait))
	defer cancel()
	var work sync.WaitGroup
	for _, stop := range e.stops {
		work.Go(func() {
			err := stop(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				err = context.Cause(ctx)
			}
			e.keepError(err)
		})
	}
	work.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.first
}

// keepError keeps the first error for the end.
func (e *export) keepError(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first == nil {
		e.first = err
	}
}

// spanExporter and metricExporter keep their errors for the end: the library
// would print each of them in the middle of a conversation.
type spanExporter struct {
	sdktrace.SpanExporter
	*export
}

func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.keepError(e.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

type metricExporter struct {
	sdkmetric.Exporter
	*export
}

func (e metricExporter) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	e.keepError(e.Exporter.Export(ctx, data))
	return nil
}
