package openai

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// answers asks a model whose server answers with body.
func answers(t *testing.T, settings map[string]any, body string) ([]runtime.Chunk, error) {
	t.Helper()
	m := serve(t, settings, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	var chunks []runtime.Chunk
	for c, err := range m.Generate(t.Context(), &runtime.Request{Messages: []runtime.Message{{Role: runtime.RoleUser, Text: "x"}}}) {
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

// A server may repeat the key wherever it says anything, and say too much.
func TestAServerCannotSayTheKey(t *testing.T) {
	const key = "sk-very-secret-0123456789"
	t.Setenv("USHER_TEST_KEY", key)
	for name, body := range map[string]string{
		"finish reason":          `{"choices":[{"message":{"content":"x"},"finish_reason":"` + key + `"}]}`,
		"finish reason of a cut": `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"n","arguments":"{\"a"}}]},"finish_reason":"` + key + `"}]}`,
		"filter":                 `{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter","content_filter_results":{"` + key + `":{"filtered":true}}}]}`,
		"filter of a request":    `{"error":{"code":"content_filter","message":"m","innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"` + key + `":{"filtered":true}}}}}`,
		"call id":                `{"choices":[{"message":{"tool_calls":[{"id":"` + key + `","function":{"name":"n","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
		"call name":              `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"` + key + `","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
		"call name in pieces":    `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"` + key[:9] + `"}},{"id":"a","function":{"name":"` + key[9:] + `"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n",
		"model":                  `{"model":"` + key + `","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`,
		"long finish reason":     `{"choices":[{"message":{"content":"x"},"finish_reason":"` + strings.Repeat("\\u001b[2J", 100_000) + `"}]}`,
		"long call id":           `{"choices":[{"message":{"tool_calls":[{"id":"` + strings.Repeat("x", 1<<20) + `","function":{"name":"n","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
		"no stream":              "you sent " + key + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			chunks, err := answers(t, map[string]any{"key": "env:USHER_TEST_KEY"}, body)
			if err != nil && strings.Contains(err.Error(), key) {
				t.Errorf("the error has the key: %v", err)
			}
			for _, c := range chunks {
				said := c.Finish + c.Model
				if len(said) > endpoint.MaxMessage {
					t.Errorf("a chunk of %d bytes", len(said))
				}
				if c.Call != nil {
					if said += c.Call.ID + c.Call.Name; len(c.Call.ID) > 100<<10 {
						t.Errorf("a call's id of %d bytes", len(c.Call.ID))
					}
				}
				if strings.Contains(said, key) {
					t.Errorf("the chunk has the key: %+v", c)
				}
			}
		})
	}
}

// Nor may it say the key in other spellings, in half, or in what is no answer.
func TestNoErrorHoldsTheKey(t *testing.T) {
	const key, user = "sk-very/secret+0123456789=", "user:pass+word/1"
	t.Setenv("USHER_TEST_KEY", key)
	t.Setenv("USHER_TEST_BASIC", "Basic "+base64.StdEncoding.EncodeToString([]byte(user)))
	raw := func(sent string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, sent)
			_ = conn.Close()
		}
	}
	body := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	escaped := strings.NewReplacer("-", `\u002d`, "/", `\/`, "+", `\u002B`, "=", `\u003d`).Replace(key)
	for name, answer := range map[string]http.HandlerFunc{
		"a trailer that is none":          raw(head + "0\r\n" + key + "\r\n\r\n"),
		"a chunk's length that is none":   raw(head + key + "\r\n"),
		"a header that is none":           raw("HTTP/1.1 200 OK\r\n" + key + "\r\n\r\n"),
		"escapes in what is no JSON":      body(200, `data: {"x":"`+escaped+`",]`+"\n\n"),
		"escapes in what is no answer":    body(200, `{"x":"`+escaped+`"}`),
		"escapes in an error":             body(400, `{"error":{"message":{"t":"`+escaped+`"}}}`),
		"escapes in a text in an error":   body(400, `{"error":{"message":"m","metadata":{"raw":`+strconv.Quote(escaped)+`}}}`),
		"half of it where a line is cut":  body(200, "x"+strings.Repeat(" ", 2*endpoint.MaxMessage-20)+key+"\n"),
		"half of it where a body is cut":  body(401, "x"+strings.Repeat(" ", 64<<10-20)+key),
		"half of it where a body is torn": raw("HTTP/1.1 401 No\r\nContent-Length: 100\r\n\r\nbad key " + key[:20]),
		"user and password":               body(401, "no "+user+" here"),
		"the password":                    body(401, "no pass+word/1 here"),
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, map[string]any{"key": "env:USHER_TEST_KEY", "headers": map[string]any{"X-Token": "env:USHER_TEST_BASIC"}}, answer)
			_, err := collect(t.Context(), m, hello)
			if err == nil {
				t.Fatal("no error")
			}
			for _, half := range []string{key[:9], escaped[:9], "0123456789", "pass+word"} {
				if strings.Contains(err.Error(), half) {
					t.Errorf("the error has %s: %v", half, err)
				}
			}
		})
	}
}

// A count below nothing would be a refund, and the sum of two huge ones too.
func TestUsageWithinReason(t *testing.T) {
	for _, u := range []string{
		`{"prompt_tokens":-1000000,"completion_tokens":-1,"prompt_tokens_details":{"cached_tokens":-3,"cache_write_tokens":-4}}`,
		`{"prompt_tokens":9223372036854775000,"completion_tokens":9223372036854775000,"prompt_cache_hit_tokens":9223372036854775000}`,
	} {
		chunks, err := answers(t, nil, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":`+u+`}`)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			if u := c.Usage; u != nil && (min(u.Input, u.Output, u.CacheRead, u.CacheWrite) < 0 || u.Input+u.Output < 0 || u.CacheRead+u.CacheWrite < 0) {
				t.Errorf("usage %+v", *u)
			}
		}
	}
}

// What fills the window is no whole answer, and the runtime can make room.
func TestTheWindowCutsAnAnswer(t *testing.T) {
	for _, reason := range []string{"model_length", "model_context_window_exceeded"} {
		chunks, err := answers(t, nil, `{"choices":[{"message":{"content":"Once upon"},"finish_reason":"`+reason+`"}]}`)
		if !errors.Is(err, endpoint.ErrCut) || !errors.Is(err, runtime.ErrWindow) || len(chunks) != 1 || chunks[0].Text != "Once upon" {
			t.Errorf("%s: %+v and %v, want the text, and an endpoint.ErrCut that is an ErrWindow", reason, chunks, err)
		}
	}
}

// A few bytes on the wire may stand for many in memory: what has more values than an answer
// has is not decoded.
func TestAnAnswerOfManyValuesIsRefused(t *testing.T) {
	many := strings.Repeat("{},", 1<<20) + "{}"
	for name, body := range map[string]string{
		"choices":            `{"choices":[` + many + `]}`,
		"calls":              `{"choices":[{"message":{"tool_calls":[` + many + `]},"finish_reason":"tool_calls"}]}`,
		"parts":              `{"choices":[{"message":{"content":[` + many + `]},"finish_reason":"stop"}]}`,
		"what nobody reads":  `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"more":[` + many + `]}`,
		"errors":             `[` + many + `]`,
		"a piece of a reply": `data: {"choices":[` + many + `]}` + "\n\ndata: [DONE]\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := answers(t, nil, body); !errors.Is(err, endpoint.ErrFormat) || !strings.Contains(err.Error(), "too many values") {
				t.Errorf("%.300v, want an ErrFormat that says that there are too many values", err)
			}
		})
	}
	long := `{"choices":[{"message":{"content":"` + strings.Repeat("{},[", 100_000) + `"},"finish_reason":"stop"}]}`
	if _, err := answers(t, nil, long); err != nil {
		t.Errorf("a long text: %v", err)
	}
}
