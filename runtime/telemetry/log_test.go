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
	ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{Agent: "Carol", Session: "main"})
	turn.End(ctx, 2, spend.Usage{Input: 3, Output: 4}, nil)
	all := kept.GetSpans()
	at := func(i int, line fields) fields {
		line["level"], line["agent"], line["session"] = "DEBUG", "Carol", "main"
		line["trace_id"], line["span_id"] = all[i].SpanContext.TraceID().String(), all[i].SpanContext.SpanID().String()
		return line
	}
	tool := func(i int, id, outcome string) fields {
		return at(i, fields{"msg": "tool called", "operation": "v/ops/covia/write", "call": id, "outcome": outcome})
	}
	want := []fields{
		{"level": "INFO", "msg": "outside", "a": 1.0, "g": fields{"b": 2.0}},
		at(3, fields{"msg": "turn started", "job": "j1"}),
		at(0, fields{"msg": "model asked", "model": "gpt-5-mini", "input": 100.0, "output": 20.0, "failed": false}),
		tool(1, "c1", "ok"),
		tool(2, "c2", "denied"),
		at(3, fields{"msg": "turn failed", "job": "j1", "failure": "_OTHER"}),
		at(4, fields{"msg": "turn started"}),
		at(4, fields{"msg": "turn finished", "calls": 2.0, "input": 3.0, "output": 4.0}),
	}
	want[5]["level"] = "WARN"
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
