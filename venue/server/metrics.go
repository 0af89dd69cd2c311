package server

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"usher/venue"
)

// Metrics counts what a server does, for Prometheus. They are of the whole venue, and any
// of its users may do everything in person in a namespace of their own: so no capability
// says who reads them, and they have an address of their own.
type Metrics struct {
	Registry *prometheus.Registry

	requests *prometheus.CounterVec
	times    *prometheus.HistogramVec
}

// NewMetrics returns the metrics, with those of the Go runtime.
func NewMetrics() *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "usher_http_requests_total", Help: "Requests that were answered, by route."}, []string{"route", "status"}),
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "usher_http_request_seconds", Help: "How long requests took, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120},
		}, []string{"route"}),
	}
	m.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.requests, m.times)
	return m
}

// of has what is counted of a venue and its server.
func (m *Metrics) of(v *venue.Venue, s *Server) error {
	if err := m.Registry.Register(newModels(v.Used)); err != nil {
		return err
	}
	for _, g := range []struct {
		name, help string
		read       func() int
	}{
		{"usher_runs_executing", "Runs that execute now.", func() int { return len(v.LiveRuns()) }},
		{"usher_runs_resting", "Runs that wait for somebody or something, or are paused.", func() int { return v.RestCount(context.Background()) }},
		{"usher_http_streams", "Streams of events that are followed now.", s.door.Streams.Count},
		{"usher_http_requests_in_flight", "Requests that are under way now, streams included.", func() int { return int(s.inFlight.Load()) }},
	} {
		if err := m.Registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, func() float64 { return float64(g.read()) })); err != nil {
			return err
		}
	}
	return nil
}

// count counts a request, by the pattern of its route: what clients write in a path makes
// no series. Nil counts nothing.
func (m *Metrics) count(r *http.Request, status int, took time.Duration) {
	if m == nil {
		return
	}
	route := r.Pattern
	if route == "" || route == "/" || strings.HasSuffix(route, "/") {
		route = "none"
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.times.WithLabelValues(route).Observe(took.Seconds())
}

// Serve answers GET /metrics at a listener until ctx ends.
func (m *Metrics) Serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: sendTime}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headTime, ReadTimeout: readTime, WriteTimeout: sendTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}
