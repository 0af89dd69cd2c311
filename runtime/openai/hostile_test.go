package openai

import (
	"errors"
	"net/http"
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
					if said += c.Call.ID; len(c.Call.ID) > 100<<10 {
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
		if !errors.Is(err, ErrCut) || !errors.Is(err, runtime.ErrWindow) || len(chunks) != 1 || chunks[0].Text != "Once upon" {
			t.Errorf("%s: %+v and %v, want the text, and an ErrCut that is an ErrWindow", reason, chunks, err)
		}
	}
}
