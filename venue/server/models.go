package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"usher/runtime/telemetry"
)

// models tells what models are used, at each reading.
type models struct {
	used          func() []telemetry.Used
	calls, tokens *prometheus.Desc
}

var _ prometheus.Collector = (*models)(nil)

func newModels(used func() []telemetry.Used) *models {
	return &models{
		used:   used,
		calls:  prometheus.NewDesc("usher_model_calls_total", "Calls of models that have ended, by provider and model.", []string{"provider", "model", "outcome"}, nil),
		tokens: prometheus.NewDesc("usher_model_tokens_total", "Tokens that models have counted, by provider and model.", []string{"provider", "model", "kind"}, nil),
	}
}

// Describe tells which metrics there are.
func (m *models) Describe(to chan<- *prometheus.Desc) {
	to <- m.calls
	to <- m.tokens
}

// Collect tells what they are now.
func (m *models) Collect(to chan<- prometheus.Metric) {
	tell := func(what *prometheus.Desc, n int64, u *telemetry.Used, kind string) {
		to <- prometheus.MustNewConstMetric(what, prometheus.CounterValue, float64(n), u.Provider, u.Model, kind)
	}
	for _, u := range m.used() {
		tell(m.calls, u.Calls-u.Failed, &u, "answered")
		tell(m.calls, u.Failed, &u, "failed")
		tell(m.tokens, u.Input, &u, "input")
		tell(m.tokens, u.Output, &u, "output")
	}
}
