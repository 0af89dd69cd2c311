package telemetry

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"usher/tools/spend"
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

// Used is what calls of one model came to since the start.
type Used struct {
	Provider, Model string
	Calls, Failed   int64 // Failed are among Calls
	Input, Output   int64 // tokens
}

// maxUsed bounds how many models are told apart. What more there are count together, by no
// name.
const maxUsed = 100

// tally counts what models are used. The zero value is valid, and safe for concurrent use.
type tally struct {
	mu sync.Mutex
	of map[[2]string]Used
}

func (t *tally) add(call *ModelCall, u spend.Usage, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{call.Provider, call.Model}
	used, known := t.of[key]
	if !known && len(t.of) >= maxUsed {
		key = [2]string{unknownProvider, ""}
		used = t.of[key]
	}
	used.Provider, used.Model = key[0], key[1]
	used.Calls++
	if failed {
		used.Failed++
	}
	used.Input, used.Output = used.Input+int64(max(0, u.Input)), used.Output+int64(max(0, u.Output))
	if t.of == nil {
		t.of = make(map[[2]string]Used)
	}
	t.of[key] = used
}

// Used lists what each model was used, by provider and model as they are configured. Nil has
// counted nothing.
func (t *Telemetry) Used() []Used {
	if t == nil {
		return nil
	}
	t.used.mu.Lock()
	defer t.used.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.used.of), func(a, b Used) int {
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Model, b.Model))
	})
}
