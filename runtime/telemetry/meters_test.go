package telemetry_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"usher/runtime/telemetry"
	"usher/tools/spend"
)

// point is what a test compares of one point of a metric.
type point struct {
	Metric, Unit string
	Fields       fields
	Sum          float64
	Bounds       []float64
}

// points flattens what a reader collected.
func points(t *testing.T, reader sdkmetric.Reader) []point {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var out []point
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(set attribute.Set, sum float64, bounds []float64) {
				p := point{m.Name, m.Unit, fields{}, sum, bounds}
				for _, kv := range set.ToSlice() {
					p.Fields[string(kv.Key)] = kv.Value.AsInterface()
				}
				out = append(out, p)
			}
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Sum, p.Bounds)
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, float64(p.Sum), p.Bounds)
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Value, nil)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b point) int {
		return cmp.Compare(fmt.Sprint(a.Metric, a.Fields), fmt.Sprint(b.Metric, b.Fields))
	})
	return out
}

func TestMetricsAreTheConventions(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Options{Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ask := func(answer telemetry.Answer, err error) {
			ctx, turn := tel.StartTurn(t.Context(), telemetry.Turn{})
			ctx, call := turn.StartModelCall(ctx, telemetry.ModelCall{Provider: "openai", Model: "gpt-5-mini", Server: "localhost:8080"})
			time.Sleep(250 * time.Millisecond) // virtual
			if err == nil {
				call.Chunk()
				time.Sleep(750 * time.Millisecond) // virtual
				call.Chunk()
			}
			call.End(ctx, answer, err)
		}
		ask(telemetry.Answer{Model: "gpt-5-mini-2026", Finish: "stop", Usage: spend.Usage{Input: 100, Output: 20, Cost: 1500}}, nil)
		ask(telemetry.Answer{}, classed{errors.New("no")})
	})
	seconds := []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokens := []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	with := func(more fields) fields {
		all := fields{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5-mini",
			"server.address": "localhost", "server.port": int64(8080),
		}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	answered := "gpt-5-mini-2026"
	cost := with(fields{"gen_ai.response.model": answered})
	delete(cost, "gen_ai.operation.name")
	want := []point{
		{"gen_ai.client.operation.duration", "s", with(fields{"error.type": "capability_denied"}), 0.25, seconds},
		{"gen_ai.client.operation.duration", "s", with(fields{"gen_ai.response.model": answered}), 1, seconds},
		{"gen_ai.client.operation.time_to_first_chunk", "s", with(fields{"gen_ai.response.model": answered}), 0.25, seconds},
		{"gen_ai.client.token.usage", "{token}", with(fields{"gen_ai.response.model": answered, "gen_ai.token.type": "input"}), 100, tokens},
		{"gen_ai.client.token.usage", "{token}", with(fields{"gen_ai.response.model": answered, "gen_ai.token.type": "output"}), 20, tokens},
		{"usher.model.cost", "{cost}", cost, 0.0015, nil},
	}
	if diff := gocmp.Diff(want, points(t, reader)); diff != "" {
		t.Error(diff)
	}
}
