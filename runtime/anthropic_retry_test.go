package runtime_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
)

// torn breaks the connection after lines.
func torn(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		events(1<<20, lines...)(w, r)
		panic(http.ErrAbortHandler)
	}
}

// A cut stream is asked for again only when nothing of it was acted on. The time
// is virtual.
func TestRetry(t *testing.T) {
	text := "Grüß Gott 👋"
	for _, tc := range []struct {
		name     string
		answers  []http.HandlerFunc
		requests int
		text     string
		is       error // nil is an answer
	}{
		{"cut before anything", []http.HandlerFunc{torn(), hello(64)}, 2, text, nil},
		{"cut after its head", []http.HandlerFunc{torn(begin, ping, text0), hello(64)}, 2, text, nil},
		{"cut in its text", []http.HandlerFunc{torn(begin, text0, delta0("Hi")), hello(64)}, 1, "Hi", endpoint.ErrCut},
		{"cut in a call", []http.HandlerFunc{torn(begin, tool1Start, tool1b), hello(64)}, 1, "", endpoint.ErrCut},
		{"429, 500, 529, overloaded", []http.HandlerFunc{
			reply(429, http.Header{"Retry-After-Ms": {"1"}}, apiError("rate_limit_error", "Slow down.")),
			reply(500, nil, apiError("api_error", "Oh.")),
			reply(529, nil, apiError("overloaded_error", "Overloaded")),
			events(64, begin, apiError("overloaded_error", "Overloaded")),
			hello(64),
		}, 5, text, nil},
		{"no JSON", []http.HandlerFunc{events(64, begin, `{"type":"content_block_delta",`), hello(64)}, 1, "", endpoint.ErrFormat},
		{"no end in time", []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			events(64, begin)(w, r)
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, hello(64)}, 2, text, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serveInBubble(t, tc.answers...)
				m := s.model(t, func(o *anthropic.Options) { o.Timeout = time.Minute })
				again := wrap.Retry(m, &wrap.RetryOptions{Tries: 6, First: time.Millisecond})
				g, err := ask(t, again, say("Hi"))
				if g.Text != tc.text || s.requests() != tc.requests || !errors.Is(err, tc.is) {
					t.Errorf("got %q, %v after %d requests, want %q, %v after %d", g.Text, err, s.requests(), tc.text, tc.is, tc.requests)
				}
			})
		})
	}
}
