package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
)

// verdict is what wrappers ask an error.
func verdict(err error) (temporary bool, wait time.Duration, waits bool) {
	if t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err); ok {
		temporary = t.Temporary()
	}
	if r, ok := errors.AsType[interface {
		error
		RetryAfter() (time.Duration, bool)
	}](err); ok {
		wait, waits = r.RetryAfter()
	}
	return temporary, wait, waits
}

func apiError(kind, message string) string {
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_body"}`
}

func TestServerErrors(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name      string
		answer    http.HandlerFunc
		want      string
		temporary bool
		wait      time.Duration
		waits     bool
	}{
		{
			"429 in seconds", reply(429, http.Header{"Retry-After": {"7"}, "Request-Id": {"req_1"}}, apiError("rate_limit_error", "Slow down.")),
			"the model's server answers 429 Too Many Requests (rate_limit_error): Slow down.; try again in 7s [request req_1]", true, 7 * time.Second, true,
		},
		{
			"429 until a date", reply(429, http.Header{"Retry-After": {now.Add(90 * time.Second).Format(http.TimeFormat)}}, apiError("rate_limit_error", "x")),
			"try again in 1m30s", true, 90 * time.Second, true,
		},
		{"429 in the past", reply(429, http.Header{"Retry-After": {now.Add(-time.Hour).Format(http.TimeFormat)}}, apiError("rate_limit_error", "x")), "429", true, 0, true},
		{"429 with nonsense", reply(429, http.Header{"Retry-After": {"-1e300"}}, apiError("rate_limit_error", "x")), "429", true, 0, false},
		{"429 for longer than anyone waits", reply(429, http.Header{"Retry-After": {"86401"}}, apiError("rate_limit_error", "x")), "try again in 24h0m0s", true, 24 * time.Hour, true},
		{"milliseconds first", reply(503, http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"9"}}, ""), "503 Service Unavailable; try again in 1.5s", true, 1500 * time.Millisecond, true},
		{"529", reply(529, nil, apiError("overloaded_error", "Overloaded")), "answers 529 (overloaded_error): Overloaded [request req_body]", true, 0, false},
		{"500", reply(500, nil, apiError("api_error", "Oh.")), "500 Internal Server Error (api_error): Oh.", true, 0, false},
		{"500 that the server would not repeat", reply(500, http.Header{"X-Should-Retry": {"false"}}, apiError("api_error", "Oh.")), "500", false, 0, false},
		{"400", reply(400, nil, apiError("invalid_request_error", "max_tokens: too many")), "400 Bad Request (invalid_request_error): max_tokens: too many", false, 0, false},
		{"401 that repeats the key", reply(401, nil, apiError("authentication_error", "invalid x-api-key "+testKey)), "invalid x-api-key [redacted]; check key", false, 0, false},
		{"401 with the key where the text is cut", reply(401, nil, apiError("authentication_error", strings.Repeat("x", 990)+testKey)), "x[redacte", false, 0, false},
		{"404", reply(404, nil, apiError("not_found_error", "model: claude-test")), "check base_url and model", false, 0, false},
		{"413", reply(413, nil, apiError("request_too_large", "Too large")), "less context", false, 0, false},
		{"502 of a proxy", reply(502, http.Header{"Content-Type": {"text/html"}}, "<html>\n<h1>Bad\x00 Gateway</h1>"+strings.Repeat("x", 1<<20)), "502 Bad Gateway: <html> <h1>Bad", true, 0, false},
		{"a redirect", reply(307, http.Header{"Location": {"https://evil.example/v1/messages"}}, ""), "307 Temporary Redirect: it redirects to https://evil.example/v1/messages, and redirects are not followed: set base_url", false, 0, false},
		{"a web page", reply(200, http.Header{"Content-Type": {"text/html"}}, "<html>"), "it sent a web page: base_url is not", false, 0, false},
		{
			"an error in mid-stream", events(5, begin, text0, delta0("Hi"), apiError("overloaded_error", "Overloaded")),
			"the model's server answers with an error (overloaded_error): Overloaded [request req_body]", true, 0, false,
		},
		{
			"an error in mid-stream without a name", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: "+begin+"\n\ndata: "+apiError("overloaded_error", "Overloaded")+"\n\n")
			},
			"the model's server answers with an error (overloaded_error): Overloaded [request req_body]", true, 0, false,
		},
		{"an error under the status of an answer", reply(200, nil, apiError("overloaded_error", "Over\u002dloaded")), "with an error (overloaded_error): Over-loaded", true, 0, false},
		{"an answer of another API", reply(200, nil, `{"object":"chat.completion"}`), "its answer is no message: check base_url", false, 0, false},
		{"401 with the key in escapes", reply(401, nil, `{"message":"`+strings.ReplaceAll(testKey, "-", `\u002d`)+`"}`), `: [redacted]; check key`, false, 0, false},
		{"an error of another kind in mid-stream", events(5, begin, apiError("invalid_request_error", "No.")), "(invalid_request_error): No.", false, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, tc.answer)
			_, err := ask(t, s.model(t, func(o *anthropic.Options) { o.Now = func() time.Time { return now } }), say("Hi"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Generate: %v, want an error with %q", err, tc.want)
			}
			temporary, wait, waits := verdict(err)
			if temporary != tc.temporary || wait != tc.wait || waits != tc.waits {
				t.Errorf("%v: temporary %v, retry after %v, %v; want %v, %v, %v", err, temporary, wait, waits, tc.temporary, tc.wait, tc.waits)
			}
			if len(err.Error()) > 1300 || strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("the error is no short line: %q", err)
			}
			if s.requests() != 1 {
				t.Errorf("%d requests were made, want 1: trying again is not the model's", s.requests())
			}
			hidesKey(t, err)
		})
	}
}

func claudeManyCalls() []string {
	lines := []string{begin}
	for i := range 1025 {
		lines = append(lines,
			fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"t%d","name":"f","input":{}}}`, i, i),
			fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
	return append(lines, endTools, end)
}

// An error under the status of an answer is one, whatever was asked for.
func TestErrorForAWholeAnswer(t *testing.T) {
	s := serve(t, reply(200, nil, apiError("overloaded_error", "Overloaded "+testKey)))
	_, err := ask(t, s.model(t, func(o *anthropic.Options) { o.NoStream = true }), say("Hi"))
	said, ok := errors.AsType[*endpoint.Error](err)
	if !ok || !said.Temporary() || said.Error() != "the model's server answers with an error (overloaded_error): Overloaded [redacted] [request req_body]" {
		t.Errorf("Generate: %v, want a temporary Error", err)
	}
	hidesKey(t, err)
}

// Of an error, as much is read as can be of use.
func TestErrorBodyIsBounded(t *testing.T) {
	for _, whole := range []bool{false, true} {
		read := &meter{}
		s := serve(t, reply(500, http.Header{"Content-Type": {"text/html"}}, strings.Repeat("<p>x</p> ", 1<<20)))
		_, err := ask(t, s.model(t, func(o *anthropic.Options) { o.NoStream, o.Transport = endpoint.Off(whole), read }), say("Hi"))
		if err == nil || !strings.Contains(err.Error(), "500 Internal Server Error: <p>x</p>") || read.bytes > 2*maxErrorBody {
			t.Errorf("%d bytes are read for %v, want at most about %d", read.bytes, err, maxErrorBody)
		}
	}
	// Half a key at the end of what is read would not be found in it.
	s := serve(t, reply(401, http.Header{"Content-Type": {"text/plain"}}, "bad"+strings.Repeat(" ", maxErrorBody-13)+testKey))
	if _, err := ask(t, s.model(t), say("Hi")); err == nil || strings.Contains(err.Error(), testKey[:5]) {
		t.Errorf("error %v", err)
	}
}

// meter counts what is read of answers.
type meter struct {
	http.Transport
	bytes int
}

func (m *meter) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := m.Transport.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(res.Body, m), res.Body}
	}
	return res, err
}

func (m *meter) Write(p []byte) (int, error) {
	m.bytes += len(p)
	return len(p), nil
}

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// hidesKey looks for the key in all that hangs on an error.
func hidesKey(t *testing.T, err error) {
	t.Helper()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "error", err, "any", fmt.Sprintf("%+v %#v", err, err))
	for e := err; e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(&log, "%+v %#v", e, e)
	}
	if strings.Contains(log.String(), testKey) {
		t.Errorf("the key is in the error: %s", log.String())
	}
}

func TestBrokenAnswers(t *testing.T) {
	hang := func(lines ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			events(1<<20, lines...)(w, r)
			panic(http.ErrAbortHandler)
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		events(1<<20, begin, text0)(w, r)
		big := ": " + strings.Repeat("alive ", 1<<18) + "\n\n"
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, big); err != nil {
				return
			}
		}
	}
	whole := func(o *anthropic.Options) { o.NoStream = true }
	for _, tc := range []struct {
		name      string
		answer    http.HandlerFunc
		change    func(*anthropic.Options)
		is        error
		want      string
		temporary bool
	}{
		{"nothing", events(1), nil, endpoint.ErrCut, "unexpected EOF", true},
		{"cut between events", events(64, begin, text0, delta0("Hi")), nil, endpoint.ErrCut, "unexpected EOF", true},
		{"cut before the last event", events(64, begin, text0, delta0("Hi"), stop0, endTurn), nil, endpoint.ErrCut, "unexpected EOF", true},
		{"connection lost", hang(begin, text0, delta0("Hi")), nil, endpoint.ErrCut, "unexpected EOF", true},
		{"connection lost in a whole answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"type":"message","content":[`)
		}, whole, endpoint.ErrCut, "unexpected EOF", true},
		{"no JSON", events(64, begin, text0, `{"type":"content_block_delta","index":0,`), nil, endpoint.ErrFormat, `it sent {"type":"content_block_delta","index":0,`, false},
		{"no JSON in a whole answer", reply(200, nil, `{"type":]}`), whole, endpoint.ErrFormat, `it sent {"type":]}`, false},
		{"half of a whole answer", reply(200, nil, `{"type":"message"`), whole, endpoint.ErrCut, "unexpected EOF", true},
		{"null for a whole answer", reply(200, nil, "null"), whole, endpoint.ErrFormat, "check base_url: it sent null", false},
		{"null for a stream", reply(200, nil, "null"), nil, endpoint.ErrFormat, "check base_url: it sent null", false},
		{"nothing for a whole answer", reply(200, nil, ""), whole, endpoint.ErrCut, "unexpected EOF", true},
		{"nothing, and a status that says so", reply(204, nil, ""), whole, endpoint.ErrCut, "unexpected EOF", true},
		{"half of a whole answer to a stream", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"type":"message","content":[`)
		}, nil, endpoint.ErrCut, "unexpected EOF", true},
		{"a message that is none, to a stream", reply(200, nil, `{"type":"message","content":3}`), nil, endpoint.ErrFormat, "no stop reason", false},
		{"a line without end", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			space := strings.Repeat(" ", 1<<20)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, space); err != nil {
					return
				}
			}
		}, nil, endpoint.ErrFormat, "longer than", false},
		{"many calls", events(1<<20, claudeManyCalls()...), nil, endpoint.ErrFormat, "more than 1024 tool calls", false},
		{"something else in a whole answer", reply(200, nil, `{"object":"chat.completion"}`), whole, endpoint.ErrFormat, "no message", false},
		{"endless", endless, nil, endpoint.ErrFormat, "longer than", false},
		{"endless in a whole answer", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			space := strings.Repeat(" ", 1<<20)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, space); err != nil {
					return
				}
			}
		}, whole, endpoint.ErrFormat, "longer than", false},
		{"a piece of no block", events(64, begin, delta0("Hi")), nil, endpoint.ErrFormat, "block 0, which is not open", false},
		{"an end of no block", events(64, begin, stop0), nil, endpoint.ErrFormat, "block 0 ends", false},
		{"a block that starts twice", events(64, begin, text0, text0), nil, endpoint.ErrFormat, "starts twice", false},
		{"a block left open", events(64, begin, text0, endTurn, end), nil, endpoint.ErrFormat, "block open", false},
		{"a call without a name", events(64, begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a"}}`), nil, endpoint.ErrFormat, "no id or no name", false},
		{"no stop reason", events(64, begin, end), nil, endpoint.ErrFormat, "no stop reason", false},
		{"max_tokens", events(64, begin, text0, delta0("Hi"), stop0, strings.ReplaceAll(endTurn, "end_turn", "max_tokens"), end), nil, endpoint.ErrCut, "max_tokens is used up: raise it", false},
		{"context window", events(64, begin, strings.ReplaceAll(endTurn, "end_turn", "model_context_window_exceeded"), end), nil, runtime.ErrWindow, "give the agent less context", false},
		{
			"refusal", events(64, begin, text0, delta0("I"), stop0,
				`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"It could\nharm."}},"usage":{"output_tokens":2}}`, end),
			nil, endpoint.ErrRefused, "the model refuses to answer (cyber): It could harm.; say it in other words", false,
		},
		{"refusal without details", events(64, begin, strings.ReplaceAll(endTurn, "end_turn", "refusal"), end), nil, endpoint.ErrRefused, "the model refuses to answer; say", false},
	} {
		if testing.Short() && (tc.name == "endless in a whole answer" || tc.name == "a line without end") {
			continue // megabytes on their way, as in "endless"
		}
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, tc.answer)
			change := func(*anthropic.Options) {}
			if tc.change != nil {
				change = tc.change
			}
			_, err := ask(t, s.model(t, change), say("Hi"))
			if !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Generate: %v, want %v with %q", err, tc.is, tc.want)
			}
			if temporary, _, _ := verdict(err); temporary != tc.temporary {
				t.Errorf("%v: temporary %v, want %v", err, temporary, tc.temporary)
			}
			if s.requests() != 1 {
				t.Errorf("%d requests were made, want 1", s.requests())
			}
			hidesKey(t, err)
		})
	}
}

// A server that does not come to an end is not waited for for ever, in virtual
// time.
func TestTimeout(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		whole  bool
	}{
		{"silence", func(w http.ResponseWriter, r *http.Request) {
			events(64, begin, ping)(w, r)
			<-r.Context().Done()
		}, false},
		{"signs of life without end", func(w http.ResponseWriter, r *http.Request) {
			events(64, begin)(w, r)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, ": alive\n\nevent: ping\ndata: "+ping+"\n\n")
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		}, false},
		{"silence before a whole answer", silent, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serveInBubble(t, tc.answer)
				m, began := s.model(t, func(o *anthropic.Options) { o.NoStream, o.Timeout = endpoint.Off(tc.whole), time.Minute }), time.Now()
				_, err := ask(t, m, say("Hi"))
				checkTimeout(t, s, err, began)
			})
		})
	}
	t.Run("silence before a count", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := serveInBubble(t, silent)
			m, began := s.model(t, func(o *anthropic.Options) { o.Timeout = time.Minute }), time.Now()
			_, err := m.CountTokens(t.Context(), say("Hi"))
			checkTimeout(t, s, err, began)
		})
	})
}

func checkTimeout(t *testing.T, s *api, err error, began time.Time) {
	t.Helper()
	if took := time.Since(began); !errors.Is(err, endpoint.ErrTimeout) || !strings.Contains(err.Error(), "after 1m0s") || took != time.Minute {
		t.Fatalf("after %s: %v, want that no answer came after a minute", took, err)
	}
	if temporary, _, _ := verdict(err); !temporary || s.requests() != 1 {
		t.Errorf("%v: temporary %v, after %d requests, want 1", err, temporary, s.requests())
	}
	hidesKey(t, err)
}

// A conversation that is too long is known as such, whatever came of it before.
func TestWindow(t *testing.T) {
	full := strings.ReplaceAll(endTurn, "end_turn", "model_context_window_exceeded")
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		whole  bool
		want   bool
	}{
		{"prompt", reply(400, nil, apiError("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")), false, true},
		{"prompt, of a whole answer", reply(400, nil, apiError("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")), true, true},
		{"prompt and answer", reply(400, nil, apiError("invalid_request_error", "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again")), false, true},
		{"a server that would try again", reply(400, http.Header{"X-Should-Retry": {"true"}}, apiError("invalid_request_error", "prompt is too long")), false, true},
		{"said in mid-stream", events(64, begin, apiError("invalid_request_error", "prompt is too long")), false, true},
		{"full in mid-answer", events(64, begin, text0, delta0("Hi"), stop0, full, end), false, true},
		{"full in a whole answer", reply(200, nil, `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"model_context_window_exceeded","usage":{}}`), true, true},
		{"a limit on a minute", reply(429, nil, apiError("rate_limit_error", "prompt is too long for your tier")), false, false},
		{"max_tokens", events(64, begin, strings.ReplaceAll(endTurn, "end_turn", "max_tokens"), end), false, false},
		{"another mistake", reply(400, nil, apiError("invalid_request_error", "max_tokens: too many")), false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, tc.answer)
			_, err := ask(t, s.model(t, func(o *anthropic.Options) { o.NoStream = endpoint.Off(tc.whole) }), say("Hi"))
			if err == nil || errors.Is(err, runtime.ErrWindow) != tc.want {
				t.Fatalf("Generate: %v, is %v = %t, want %t", err, runtime.ErrWindow, !tc.want, tc.want)
			}
			if temporary, _, _ := verdict(err); tc.want && temporary {
				t.Errorf("%v says that another try is worth it", err)
			}
			if tc.want && !strings.Contains(err.Error(), "less context") {
				t.Errorf("%v does not say what to do", err)
			}
		})
	}
}

// What was used until an answer failed was used.
func TestUsageOfARefusal(t *testing.T) {
	s := serve(t, events(64, begin, strings.ReplaceAll(endTurn, "end_turn", "refusal"), end))
	g, err := ask(t, s.model(t), say("Hi"))
	if want := used(12); g.Usage != want || err == nil {
		t.Errorf("usage %+v, %v; want %+v and an error", g.Usage, err, want)
	}
}

func TestNoServer(t *testing.T) {
	s := serve(t, hello(1))
	m := s.model(t)
	s.Close()
	_, err := ask(t, m, say("Hi"))
	if temporary, _, _ := verdict(err); !temporary || !strings.Contains(err.Error(), "reach the model's server: ") {
		t.Errorf("Generate without a server: %v, want a temporary error", err)
	}
}

func TestContextEnds(t *testing.T) {
	why := errors.New("the turn was stopped")
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		events(64, begin, text0, delta0("Hi"))(w, r)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for c, err := range s.model(t).Generate(ctx, say("Hi")) {
		if c.Text != "" {
			cancel(why)
		}
		last = err
	}
	if !errors.Is(last, why) {
		t.Errorf("Generate after its context ended: %v, want %v", last, why)
	}
	if temporary, _, _ := verdict(last); temporary {
		t.Errorf("%v says that another try is worth it", last)
	}
}
