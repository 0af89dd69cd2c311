package runtime_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/endpoint"
)

func TestCountTokens(t *testing.T) {
	s := serve(t, reply(http.StatusOK, nil, `{"input_tokens":2095}`), hello(1<<20))
	m := s.model(t)
	counter, ok := runtime.As[runtime.Counter](m)
	if !ok {
		t.Fatal("the model counts no tokens")
	}
	req := &runtime.Request{
		System: system(caps.Of(caps.MustCapability("w/", "crud/read"))), Messages: say("Hi").Messages, Tools: []runtime.Tool{readTool},
		Output: json.RawMessage(`{"type":"object","additionalProperties":{"type":"number"}}`),
	}
	n, err := counter.CountTokens(t.Context(), req)
	if err != nil || n != 2095 || s.paths[0] != "/v1/messages/count_tokens" {
		t.Fatalf("CountTokens at %s = %d, %v, want 2095", s.paths, n, err)
	}
	golden(t, "count", s.bodies[0])

	// What is counted is what is sent.
	if _, err := ask(t, m, req); err != nil {
		t.Fatal(err)
	}
	var counted, sent map[string]json.RawMessage
	for i, to := range []*map[string]json.RawMessage{&counted, &sent} {
		if err := json.Unmarshal(s.bodies[i], to); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range sent {
		switch key {
		case "max_tokens", "stream":
		default:
			if string(counted[key]) != string(value) {
				t.Errorf("%s is counted as %s, and sent as %s", key, counted[key], value)
			}
		}
	}
}

// A count is within reason, as those of answers are.
func TestCountTokensWithinReason(t *testing.T) {
	for said, want := range map[string]int{"-5": 0, "9223372036854775807": endpoint.Tokens(math.MaxInt)} {
		n, err := serve(t, reply(200, nil, `{"input_tokens":`+said+`}`)).model(t).CountTokens(t.Context(), say("Hi"))
		if err != nil || n != want {
			t.Errorf("CountTokens of %s = %d, %v, want %d", said, n, err, want)
		}
	}
}

func TestCountTokensFails(t *testing.T) {
	for _, tc := range []struct {
		name      string
		answer    http.HandlerFunc
		is        error
		want      string
		temporary bool
	}{
		{"429", reply(429, http.Header{"Retry-After": {"7"}}, apiError("rate_limit_error", "Slow down.")), nil, "Slow down.; try again in 7s", true},
		{"too long", reply(400, nil, apiError("invalid_request_error", "prompt is too long: 1 > 0")), runtime.ErrWindow, "less context", false},
		{"no such endpoint", reply(404, nil, apiError("not_found_error", "Not found "+testKey)), nil, "Not found [redacted]; check base_url", false},
		{"no count", reply(200, nil, `{}`), endpoint.ErrFormat, "no count of tokens", false},
		{"null", reply(200, nil, `null`), endpoint.ErrFormat, "check base_url: it sent null", false},
		{"nothing", reply(200, nil, ``), endpoint.ErrCut, "unexpected EOF", true},
		{"no JSON", reply(200, nil, `{"input_tokens":]}`), endpoint.ErrFormat, `it sent {"input_tokens":]}`, false},
		{"half of it", reply(200, nil, `{"input_tok`), endpoint.ErrCut, "unexpected EOF", true},
		{"a web page", reply(200, http.Header{"Content-Type": {"text/html"}}, "<html>"), endpoint.ErrFormat, "base_url is not", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, tc.answer)
			m := s.model(t)
			n, err := m.CountTokens(t.Context(), say("Hi"))
			if err == nil || n != 0 || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Fatalf("CountTokens = %d, %v, want %v with %q", n, err, tc.is, tc.want)
			}
			if temporary, _, _ := verdict(err); temporary != tc.temporary {
				t.Errorf("%v: temporary %t, want %t", err, temporary, tc.temporary)
			}
			hidesKey(t, err)
		})
	}
	t.Run("nothing said", func(t *testing.T) {
		s := serve(t, hello(1))
		if _, err := s.model(t).CountTokens(t.Context(), new(runtime.Request)); err == nil || s.requests() != 0 {
			t.Errorf("CountTokens of nothing: %v after %d requests", err, s.requests())
		}
	})
}
