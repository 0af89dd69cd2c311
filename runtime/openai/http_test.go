package openai

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/runtime"
	"usher/runtime/endpoint"
)

const testKey = "sk-very-secret/0123456789"

func TestStatusErrors(t *testing.T) {
	t.Setenv("TEST_KEY", testKey)
	for _, tt := range []struct {
		name      string
		status    int
		header    map[string]string
		body      string
		want      string
		temporary bool
		wait      time.Duration
		is        error
	}{
		{
			name: "rate limit in seconds", status: 429, header: map[string]string{"Retry-After": "20", "X-Request-Id": "req_1"},
			body: `{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
			want: "the model's server answers 429 Too Many Requests (rate_limit_exceeded): Rate limit reached; try again in 20s [request req_1]", temporary: true, wait: 20 * time.Second,
		},
		{name: "rate limit in milliseconds", status: 429, header: map[string]string{"Retry-After": "2", "Retry-After-Ms": "1500"}, want: "the model's server answers 429 Too Many Requests; try again in 1.5s", temporary: true, wait: 1500 * time.Millisecond},
		{name: "rate limit until a date", status: 503, header: map[string]string{"Retry-After": "Fri, 20 Nov 2026 12:01:00 GMT"}, want: "the model's server answers 503 Service Unavailable; try again in 1m0s", temporary: true, wait: time.Minute},
		{name: "rate limit until the past", status: 503, header: map[string]string{"Retry-After": "Fri, 20 Nov 2025 12:01:00 GMT"}, want: "the model's server answers 503 Service Unavailable; try again in 0s", temporary: true},
		{name: "retry-after that is none", status: 429, header: map[string]string{"Retry-After": "-1"}, want: "the model's server answers 429 Too Many Requests", temporary: true},
		{name: "no money", status: 429, body: `{"error":{"message":"You exceeded your quota","type":"billing","code":"insufficient_quota"}}`, want: "the model's server answers 429 Too Many Requests (insufficient_quota): You exceeded your quota"},
		{name: "server error", status: 500, body: `{"error":{"message":"The server had an error","type":"server_error"}}`, want: "the model's server answers 500 Internal Server Error (server_error): The server had an error", temporary: true},
		{name: "plain text", status: 502, body: "upstream\nconnect error", want: "the model's server answers 502 Bad Gateway: upstream connect error", temporary: true},
		{name: "error as text", status: 404, body: `{"error":"model 'x' not found"}`, want: "the model's server answers 404 Not Found: model 'x' not found; check base_url and model"},
		{name: "detail", status: 422, body: `{"detail":[{"loc":["body","seed"],"msg":"field required"}]}`, want: `the model's server answers 422 Unprocessable Entity: [{"loc":["body","seed"],"msg":"field required"}]`},
		{name: "message without error", status: 400, body: `{"object":"error","message":"too long","type":"BadRequestError","code":400}`, want: "the model's server answers 400 Bad Request (BadRequestError): too long"},
		{name: "key repeated", status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + testKey + `.","code":"invalid_api_key"}}`, want: "the model's server answers 401 Unauthorized (invalid_api_key): Incorrect API key provided: [redacted].; check key"},
		{name: "key repeated with escapes", status: 401, body: `{"oops":"` + strings.ReplaceAll(testKey, "/", `\/`) + `"`, want: `the model's server answers 401 Unauthorized: {"oops":"[redacted]"; check key`},
		{name: "key where the text is cut", status: 400, body: strings.Repeat("x", endpoint.MaxMessage-5) + testKey, want: "the model's server answers 400 Bad Request: " + strings.Repeat("x", endpoint.MaxMessage-5) + "[reda …"},
		{
			name: "azure filters the prompt", status: 400,
			body: `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"jailbreak":{"filtered":true,"detected":true},"hate":{"filtered":false,"severity":"safe"}}}}}`,
			want: "the provider's content filter stopped it: the model's server answers 400 Bad Request (content_filter): for jailbreak: The response was filtered (prompt)", is: endpoint.ErrFiltered,
		},
		{name: "redirect", status: 307, header: map[string]string{"Location": "https://elsewhere.example/v1/chat/completions?key=" + testKey}, want: "the model's server answers 307 Temporary Redirect: it redirects to https://elsewhere.example/v1/chat/completions, and redirects are not followed: set base_url to where the API is"},
		{name: "not modified", status: 304, want: "the model's server answers 304 Not Modified"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := serve(t, map[string]any{"key": "env:TEST_KEY"}, func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range tt.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}, func(o *Options) {
				o.Now = func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }
			})
			_, err := collect(t.Context(), m, hello)
			said, ok := errors.AsType[*endpoint.Error](err)
			if !ok {
				t.Fatalf("error is a %T: %v", err, err)
			}
			if said.Error() != tt.want {
				t.Errorf("error\n got %s\nwant %s", said, tt.want)
			}
			if said.Status != tt.status || said.Temporary() != tt.temporary {
				t.Errorf("status %d, temporary %t, want %d, %t", said.Status, said.Temporary(), tt.status, tt.temporary)
			}
			if wait, ok := said.RetryAfter(); wait != tt.wait || ok != strings.Contains(tt.want, "try again in") {
				t.Errorf("RetryAfter() = %s, %t, want %s", wait, ok, tt.wait)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error is not %v", tt.is)
			}
			if strings.Contains(fmt.Sprintf("%+v %#v", said, said), testKey[:12]) {
				t.Errorf("the error holds the key: %#v", said)
			}
		})
	}
}

func TestSecretHeaderIsRedacted(t *testing.T) {
	t.Setenv("TEST_TOKEN", "Bearer tok-0123456789")
	m := serve(t, map[string]any{"headers": map[string]any{"Authorization": "env:TEST_TOKEN"}}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		_, _ = io.WriteString(w, "bad token "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	if _, err := collect(t.Context(), m, hello); err == nil || strings.Contains(err.Error(), "0123456789") || !strings.Contains(err.Error(), "[redacted]") {
		t.Errorf("error %v", err)
	}
}

const event = `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"

// A connection that breaks after two pieces.
func TestConnectionBreaks(t *testing.T) {
	m := serve(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, event+event)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	c, err := collect(t.Context(), m, hello)
	if !errors.Is(err, endpoint.ErrCut) || c.text != "aa" {
		t.Errorf("got %q, %v, want aa and %v", c.text, err, endpoint.ErrCut)
	}
	if late, ok := errors.AsType[temporary](err); !ok || !late.Temporary() {
		t.Error("a broken connection is not temporary")
	}
}

func TestNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	m, err := New(Options{Options: endpoint.Options{Model: "m", BaseURL: "http://" + address, Key: testKey}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = collect(t.Context(), m, hello)
	if late, ok := errors.AsType[temporary](err); !ok || !late.Temporary() || !strings.Contains(err.Error(), "reach the model's server") {
		t.Errorf("error %v", err)
	}
}

// endless streams until its client goes, and then closes gone.
func endless(gone chan<- struct{}, what string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, what)
			w.(http.Flusher).Flush()
		}
	}
}

func TestEndlessStreams(t *testing.T) {
	for name, what := range map[string]string{
		"events": event, "comments": ": keep-alive\n\n", "spaces": " ", "a line": "x", "empty events": "data: {}\n\n",
	} {
		t.Run("timeout ends "+name, func(t *testing.T) {
			// On a busy machine the time may end before the request has come; then a longer one is tried.
			for timeout, came := 20*time.Millisecond, false; !came; timeout *= 2 {
				came = endsAfter(t, timeout, what)
			}
		})
	}
	t.Run("the context ends it", func(t *testing.T) {
		gone := make(chan struct{})
		m := serve(t, nil, endless(gone, event))
		why := errors.New("run stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		n := 0
		var last error
		for _, err := range m.Generate(ctx, hello) {
			if n++; n == 3 {
				cancel(why)
			}
			last = err
		}
		if !errors.Is(last, why) || errors.Is(last, endpoint.ErrCut) {
			t.Errorf("error %v, want %v", last, why)
		}
		<-gone
	})
	t.Run("the consumer leaves", func(t *testing.T) {
		gone := make(chan struct{})
		m := serve(t, nil, endless(gone, event))
		for _, err := range m.Generate(t.Context(), hello) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		<-gone
	})
	t.Run("a server that says nothing", func(t *testing.T) {
		m := serve(t, map[string]any{"timeout": "20ms"}, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the server notices that a client leaves only after that
			<-r.Context().Done()
		})
		if _, err := collect(t.Context(), m, hello); !errors.Is(err, endpoint.ErrTimeout) {
			t.Errorf("error %v, want %v", err, endpoint.ErrTimeout)
		}
	})
}

// endsAfter asks for an answer without end, which the timeout must end, and says
// whether the request came to the server within that.
func endsAfter(t *testing.T, timeout time.Duration, what string) (came bool) {
	t.Helper()
	begun, gone := make(chan struct{}), make(chan struct{})
	stream := endless(gone, what)
	m := serve(t, map[string]any{"timeout": timeout.String()}, func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		stream(w, r)
	})
	_, err := collect(t.Context(), m, hello)
	select {
	case <-begun:
		came = true
	default:
	}
	if !errors.Is(err, endpoint.ErrTimeout) || errors.Is(err, endpoint.ErrCut) || !strings.Contains(err.Error(), timeout.String()) {
		t.Errorf("error %v, want %v", err, endpoint.ErrTimeout)
	}
	if came {
		<-gone
	}
	return came
}

const done = `data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// A server that holds the connection open after [DONE] does not hold up the answer.
func TestServerHoldsOn(t *testing.T) {
	m := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, done)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	if c, err := collect(t.Context(), m, hello); err != nil || c.text != "b" {
		t.Errorf("got %q, %v", c.text, err)
	}
}

// The end of the body comes after [DONE]; the next request takes the same
// connection all the same.
func TestConnectionIsReused(t *testing.T) {
	from := make(map[string]int)
	finished := make(chan struct{})
	m := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		from[r.RemoteAddr]++
		_, _ = io.WriteString(w, event+done)
		w.(http.Flusher).Flush()
		<-finished
	})
	for range 5 {
		for chunk, err := range m.Generate(t.Context(), hello) {
			if err != nil {
				t.Fatal(err)
			}
			if chunk.Finish != "" {
				finished <- struct{}{}
			}
		}
	}
	if len(from) != 1 {
		t.Errorf("5 requests took %d connections", len(from))
	}
}

func TestConcurrentUse(t *testing.T) {
	m := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		n := strings.Count(string(raw), "Hello")
		_, _ = io.WriteString(w, strings.Repeat(event, n)+done)
	})
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			req := &runtime.Request{Messages: []runtime.Message{{Role: runtime.RoleUser, Text: strings.Repeat("Hello", n)}}}
			c, err := collect(t.Context(), m, req)
			if want := strings.Repeat("a", n) + "b"; err != nil || c.text != want {
				t.Errorf("got %q, %v, want %q", c.text, err, want)
			}
		})
	}
	group.Wait()
}

// A redirect must not take key and conversation to another host.
func TestRedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	m := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
	})
	if said, ok := errors.AsType[*endpoint.Error](drop(collect(t.Context(), m, hello))); !ok || said.Status != 308 {
		t.Errorf("got %v, want an Error of 308", said)
	}
}

func drop(_ collected, err error) error { return err }

func TestLongLines(t *testing.T) {
	long := strings.Repeat("ü", 100<<10)
	m := serve(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Replace(event, `"a"`, `"`+long+`"`, 1)+done)
	})
	if c, err := collect(t.Context(), m, hello); err != nil || c.text != long+"b" {
		t.Errorf("got %d bytes, %v, want %d", len(c.text), err, len(long)+1)
	}
	m = serve(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: "+strings.Repeat("x", maxLine+1))
	})
	if _, err := collect(t.Context(), m, hello); !errors.Is(err, endpoint.ErrFormat) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("error %v, want %v", err, endpoint.ErrFormat)
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("  "+testKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := serve(t, map[string]any{"key": "file:" + path}, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+testKey {
			t.Errorf("Authorization %q", got)
		}
		_, _ = io.WriteString(w, done)
	})
	if _, err := collect(t.Context(), m, hello); err != nil {
		t.Fatal(err)
	}
}

// temporary is an error that knows whether the same request may succeed later.
type temporary interface {
	error
	Temporary() bool
}

// Bounds of the common reader.
const (
	maxAnswer = endpoint.MaxAnswer
	maxLine   = 8 << 20
)

// Some servers pack what they send although nobody asked for that.
func TestPackedAnswers(t *testing.T) {
	const tooLong = `{"error":{"message":"maximum context length is 5","code":"context_length_exceeded"}}`
	for _, tt := range []struct {
		name   string
		stream bool
		status int
		body   string
		is     error
	}{
		{"stream", true, 200, event + done, nil},
		{"whole", false, 200, `{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}]}`, nil},
		{"error to a stream", true, 400, tooLong, runtime.ErrWindow},
		{"error to a whole answer", false, 400, tooLong, runtime.ErrWindow},
		{"more than an answer may be", true, 200, strings.Repeat(": "+strings.Repeat("alive ", 1<<18)+"\n\n", maxAnswer/(6<<18)+1) + done, endpoint.ErrFormat},
	} {
		if testing.Short() && len(tt.body) > maxAnswer {
			continue // packing it takes seconds
		}
		t.Run(tt.name, func(t *testing.T) {
			m := serve(t, map[string]any{"stream": tt.stream}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(tt.status)
				z := gzip.NewWriter(w)
				_, _ = io.WriteString(z, tt.body)
				_ = z.Close()
			})
			c, err := collect(t.Context(), m, hello)
			if !errors.Is(err, tt.is) || tt.is == nil && c.text != "ab" {
				t.Errorf("got %q, %v, want ab or %v", c.text, err, tt.is)
			}
		})
	}
}

// What costs more than it is long is bounded.
func TestAnswersAreBounded(t *testing.T) {
	calls := 1 << 20
	if testing.Short() {
		calls = 1 << 14 // a million are decoded for most of a second
	}
	for name, sent := range map[string]string{
		"an event of many lines":   "data: [\n" + strings.Repeat("data: 1,\n", 1<<19),
		"a stream that never ends": strings.Repeat(": "+strings.Repeat("alive ", 1<<18)+"\n\n", maxAnswer/(6<<18)+1) + done,
		"many calls":               `{"choices":[{"message":{"tool_calls":[{}` + strings.Repeat(`,{}`, calls) + `]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, map[string]any{"timeout": "1m"}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, sent) })
			if _, err := collect(t.Context(), m, hello); !errors.Is(err, endpoint.ErrFormat) || len(err.Error()) > 2*endpoint.MaxMessage {
				t.Errorf("error %v, want %v", err, endpoint.ErrFormat)
			}
		})
	}
}
