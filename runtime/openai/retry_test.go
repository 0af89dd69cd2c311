package openai

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"usher/runtime/endpoint"
	"usher/runtime/wrap"
)

// A cut stream is asked for again only when nothing of it was acted on.
func TestRetry(t *testing.T) {
	const (
		head = `data: {"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"usage":{"prompt_tokens":9}}` + "\n\n"
		half = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}}]}}]}` + "\n\n"
	)
	send := func(stream string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, stream) }
	}
	torn := func(stream string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, stream)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	fail := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, tt := range []struct {
		name    string
		answers []http.HandlerFunc // the last one again and again
		asked   int
		text    string
		is      error // nil is an answer
	}{
		{"cut before anything", []http.HandlerFunc{torn(""), send(done)}, 2, "b", nil},
		{"cut after its head", []http.HandlerFunc{torn(head), send(done)}, 2, "b", nil},
		{"cut in its text", []http.HandlerFunc{torn(event), send(done)}, 1, "a", endpoint.ErrCut},
		{"cut in a call", []http.HandlerFunc{torn(half), send(done)}, 1, "", endpoint.ErrCut},
		{"ended in its text", []http.HandlerFunc{send(event), send(done)}, 1, "a", endpoint.ErrCut},
		{"429, 500, an error in mid-stream", []http.HandlerFunc{
			fail(429, ""), fail(500, "oh"), send(head + `data: {"error":{"message":"busy","code":503}}` + "\n\n"), send(done),
		}, 4, "b", nil},
		{"no JSON", []http.HandlerFunc{send(head + "data: {]\n\n"), send(done)}, 1, "", endpoint.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			m := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
				asked++
				tt.answers[min(asked, len(tt.answers))-1](w, r)
			})
			c, err := collect(t.Context(), wrap.Retry(m, &wrap.RetryOptions{Tries: 6, First: time.Millisecond}), hello)
			if c.text != tt.text || asked != tt.asked || !errors.Is(err, tt.is) {
				t.Errorf("got %q, %v after %d requests, want %q, %v after %d", c.text, err, asked, tt.text, tt.is, tt.asked)
			}
		})
	}
}

// A server that asks for more patience than anyone has is not asked again at once.
func TestRetryAfterTooLong(t *testing.T) {
	for _, after := range []string{"86400", "86401", "1e300", "Fri, 20 Nov 2099 12:00:00 GMT"} {
		asked := 0
		m := serve(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := collect(t.Context(), wrap.Retry(m, &wrap.RetryOptions{First: time.Millisecond}), hello)
		if _, ok := errors.AsType[*endpoint.Error](err); !ok || asked != 1 {
			t.Errorf("Retry-After %s: %d requests, %v; want 1 and its error", after, asked, err)
		}
	}
}
