package server

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"usher/tools/fault"
	"usher/venue/face"
)

// statusWriter notes how a request was answered. It keeps what the writer can do beyond
// writing, by Unwrap.
type statusWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (a *statusWriter) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
		// However long it took to come to an answer, the client has this long to read it.
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(sendTime))
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *statusWriter) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (a *statusWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

var errFault = fault.New(fault.Panic, "the venue failed inside: this is a fault of the venue, not of the request")

// requestID is the header that names a request, in its answer and in the log.
const requestID = "X-Request-Id"

// idOf is the id that a client gave the request, or else a new one.
func idOf(r *http.Request) string {
	const signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
	if id := r.Header.Get(requestID); len(id) > 0 && len(id) <= 64 && strings.Trim(id, signs) == "" {
		return id
	}
	return rand.Text()
}

// log logs each request without what is secret of it: neither its query nor its
// headers. A panic answers with a problem, and ends nothing else.
func (s *Server) log(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		a := &statusWriter{ResponseWriter: w}
		trace := face.Trace{ID: idOf(r)}
		r = r.WithContext(face.WithTrace(r.Context(), &trace))
		h := w.Header()
		h.Set(requestID, trace.ID)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		defer func() {
			cause := recover()
			if cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // that very value, see net/http
				s.opts.Logger.ErrorContext(r.Context(), "a request failed inside", "path", r.URL.Path, "id", trace.ID, "panic", cause)
				if a.status == 0 {
					face.Of(errFault).WriteTo(a)
				}
			}
			took := time.Since(began)
			s.metrics.count(r, a.status, took)
			if s.opts.Access.Enabled(r.Context(), slog.LevelInfo) {
				s.opts.Access.LogAttrs(r.Context(), slog.LevelInfo, "request",
					slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", a.status),
					slog.Int64("bytes", a.bytes), slog.Duration("took", took), slog.String("id", trace.ID), slog.String("caller", trace.Caller.String()))
			}
		}()
		next.ServeHTTP(a, r)
	})
}
