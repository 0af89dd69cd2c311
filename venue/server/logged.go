package server

import (
	"log/slog"
	"net/http"
	"time"

	"usher/tools/fault"
	"usher/venue/face"
)

// answered notes how a request was answered. It keeps what the writer can do beyond
// writing, by Unwrap.
type answered struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answered) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

var errFault = fault.New(fault.Panic, "the venue failed inside: this is a fault of the venue, not of the request")

// logged logs each request without what is secret of it: neither its query nor its
// headers. A panic answers with a problem, and ends nothing else.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		a := &answered{ResponseWriter: w}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		defer func() {
			cause := recover()
			if cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // that very value, see net/http
				s.opts.Logger.ErrorContext(r.Context(), "a request failed inside", "path", r.URL.Path, "panic", cause)
				if a.status == 0 {
					face.Of(errFault).WriteTo(a)
				}
			}
			s.opts.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
				slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", a.status),
				slog.Int64("bytes", a.bytes), slog.Duration("took", time.Since(began)))
		}()
		next.ServeHTTP(a, r)
	})
}
