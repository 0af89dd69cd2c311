package telemetry

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
)

// meters are the instruments of model calls, and of the gate's decisions.
type meters struct {
	duration genaiconv.ClientOperationDuration
	first    genaiconv.ClientOperationTimeToFirstChunk
	tokens   genaiconv.ClientTokenUsage
	cost     metric.Float64Counter

	decisions metric.Int64Counter
}

// The boundaries that the conventions ask for.
var (
	secondBounds = metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
	tokenBounds  = metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
)

func newMeters(meter metric.Meter) (m meters, err error) {
	var errs [5]error
	m.duration, errs[0] = genaiconv.NewClientOperationDuration(meter, secondBounds)
	m.first, errs[1] = genaiconv.NewClientOperationTimeToFirstChunk(meter, secondBounds)
	m.tokens, errs[2] = genaiconv.NewClientTokenUsage(meter, tokenBounds)
	m.cost, errs[3] = meter.Float64Counter("usher.model.cost",
		metric.WithDescription("What model calls cost, in the unit of the price table."), metric.WithUnit("{cost}"))
	m.decisions, errs[4] = meter.Int64Counter("usher.gate.decisions",
		metric.WithDescription("Decisions of the gate."), metric.WithUnit("{decision}"))
	return m, errors.Join(errs[:]...)
}
