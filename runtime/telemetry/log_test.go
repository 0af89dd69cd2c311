package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"usher/runtime/telemetry"
	"usher/tools/spend"
)

// lines reads what a JSON handler wrote.
func lines(t *testing.T, out *bytes.Buffer) []fields {
	t.Helper()
	var all []fields
	for dec := json.NewDecoder(out); dec.More(); {
		var line fields
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		delete(line, "took")
		all = append(all, line)
	}
	return all
}

func TestLogLinesNameTheirSpan(t *testing.T) {
	var out bytes.Buffer
	kept := tracetest.NewInMemoryExporter()
	log := slog.New(telemetry.Handler(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	tel, err := telemetry.New(telemetry.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))}, log)
	if err != nil {
		t.Fatal(err)
	}
	log.With("a", 1).WithGroup("g").InfoContext(t.Context(), "outside", "b", 2)
	oneTurn(t.Context(), tel)
	turn := kept.GetSpans()[3].SpanContext
	want := []fields{
		{"level": "INFO", "msg": "outside", "a": 1.0, "g": fields{"b": 2.0}},
		{
			"level": "WARN", "msg": "turn failed", "agent": "Carol", "session": "main", "job": "j1", "failure": "_OTHER",
			"trace_id": turn.TraceID().String(), "span_id": turn.SpanID().String(),
		},
	}
	if diff := cmp.Diff(want, lines(t, &out)); diff != "" {
		t.Error(diff)
	}
}

// Loggers that are made of one name the span, too.
func TestLoggersBelowNameTheirSpan(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(telemetry.Handler(slog.NewJSONHandler(&out, nil)))
	tel, _ := spans(t, false)
	ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{Agent: "A"})
	span := trace.SpanContextFromContext(ctx)
	ids := fields{"trace_id": span.TraceID().String(), "span_id": span.SpanID().String()}
	log.With("a", 1).InfoContext(ctx, "with")
	log.WithGroup("g").InfoContext(ctx, "group")
	turn.End(ctx, 0, spend.Usage{}, nil)
	want := []fields{
		{"level": "INFO", "msg": "with", "a": 1.0, "trace_id": ids["trace_id"], "span_id": ids["span_id"]},
		{"level": "INFO", "msg": "group", "g": ids},
	}
	if diff := cmp.Diff(want, lines(t, &out)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
