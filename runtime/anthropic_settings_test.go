package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
)

func provide(t *testing.T, settings map[string]any) (runtime.Model, error) {
	t.Helper()
	return anthropic.Provider(t.Context(), runtime.ModelConfig{Name: "m", Provider: anthropic.Name, Settings: settings})
}

func TestSettings(t *testing.T) {
	t.Setenv("USHER_TEST_KEY", "  "+testKey+"\n")
	t.Setenv("USHER_TEST_GATEWAY", "Bearer gateway-0123456789")
	s := serve(t, reply(200, nil, `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{}}`))
	m, err := provide(t, map[string]any{
		"model": "claude-test", "base_url": s.URL, "key": "env:USHER_TEST_KEY", "allow_http": false,
		"headers":    map[string]any{"anthropic-beta": "x", "Authorization": "env:USHER_TEST_GATEWAY"},
		"max_tokens": json.Number("4096"), "temperature": json.Number("0.5"), "top_p": 0.9,
		"prompt_cache": false, "stream": false, "timeout": "90s",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.(*anthropic.Model).Close() })
	if _, err := ask(t, m, &runtime.Request{System: "You are Carol.", Messages: say("Hi").Messages}); err != nil {
		t.Fatal(err)
	}
	golden(t, "from-settings", s.bodies[0])
	h := s.headers[0]
	if h.Get("X-Api-Key") != testKey || h.Get("Authorization") != "Bearer gateway-0123456789" || h.Get("Anthropic-Beta") != "x" {
		t.Errorf("headers: %v", h)
	}
	if text := fmt.Sprintf("%v %+v %#v", m, m, m); strings.Contains(text, testKey) || strings.Contains(text, "gateway-0123456789") {
		t.Errorf("the model prints its secrets: %s", text)
	}
}

func TestKeyInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(testKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, hello(1<<20))
	m, err := provide(t, map[string]any{"model": "claude-test", "base_url": s.URL + "/v1", "key": "file:" + path, "thinking": "adaptive"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.(*anthropic.Model).Close() })
	if _, err := ask(t, m, say("Hi")); err != nil || s.headers[0].Get("X-Api-Key") != testKey {
		t.Errorf("key %q arrives, %v", s.headers[0].Get("X-Api-Key"), err)
	}
}

func TestKeyOfTheVenue(t *testing.T) {
	s := serve(t, hello(1<<20))
	m, err := anthropic.Provider(t.Context(), runtime.ModelConfig{
		Name: "m", Provider: anthropic.Name,
		Settings: map[string]any{"model": "claude-test", "base_url": s.URL, "key": "secret:anthropic"},
		Secret: func(_ context.Context, name string) (string, error) {
			return map[string]string{"anthropic": testKey}[name], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.(*anthropic.Model).Close() })
	if _, err := ask(t, m, say("Hi")); err != nil || s.headers[0].Get("X-Api-Key") != testKey {
		t.Errorf("key %q arrives, %v", s.headers[0].Get("X-Api-Key"), err)
	}
}

func TestAbout(t *testing.T) {
	for _, tc := range []struct {
		base   string
		thinks bool
		want   runtime.About
	}{
		{"", false, runtime.About{Provider: "anthropic", Model: "claude-test", Server: "api.anthropic.com", Window: 200_000}},
		{"https://api.anthropic.com:443/v1/", true, runtime.About{Provider: "anthropic", Model: "claude-test", Server: "api.anthropic.com", Window: 200_000, Reasons: true}},
		{"https://gateway.example:8443/anthropic", true, runtime.About{Provider: "anthropic", Model: "claude-test", Server: "gateway.example:8443", Reasons: true}},
		{"http://localhost:4000", false, runtime.About{Provider: "anthropic", Model: "claude-test", Server: "localhost:4000"}},
	} {
		o := anthropic.Options{Options: endpoint.Options{Model: "claude-test", BaseURL: tc.base, Key: testKey}}
		if tc.thinks {
			o.ThinkingBudget = anthropic.Adaptive
		}
		m, err := anthropic.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, runtime.Describe(m)); diff != "" {
			t.Errorf("about a model at %q (-want +got):\n%s", tc.base, diff)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	t.Setenv("USHER_TEST_KEY", testKey)
	t.Setenv("USHER_TEST_TORN", "sk-ant\nsecret-part")
	t.Setenv("USHER_TEST_EMPTY", "")
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		settings, want string
	}{
		{`{}`, "key is missing"},
		{`{"model": ""}`, "model is empty: write text"},
		{`{"model": 3}`, `model is a number: in quotes it is text, model: "3"`},
		{`{"modell": "x"}`, `no setting "modell": did you mean model?`},
		{`{"zzzzzzzzzz": "x"}`, "its settings are allow_http, base_url, headers"},
		{`{"key": "sk-ant-secret"}`, "key: a key does not belong into a configuration"},
		{`{"key": 5}`, "key: write env:NAME, file:PATH or secret:NAME"},
		{`{"model": "x", "key": "secret:anthropic"}`, "key: this program has no venue to keep secrets in: use env:NAME or file:PATH"},
		{`{"key": "$ANTHROPIC_API_KEY"}`, "write env:ANTHROPIC_API_KEY"},
		{`{"model": "x", "key": "env:USHER_TEST_NONE"}`, "environment variable USHER_TEST_NONE is not set"},
		{`{"model": "x", "key": "env:USHER_TEST_EMPTY"}`, "environment variable USHER_TEST_EMPTY is empty"},
		{`{"model": "x", "key": "env:USHER_TEST_TORN"}`, "key holds a line break"},
		{`{"model": "x", "key": "file:/nowhere/key"}`, "/nowhere/key"},
		{`{"model": "x", "key": "file:` + big + `"}`, "at most 65536 bytes"},
		{`{"key": "env:USHER_TEST_KEY"}`, "model is missing"},
		{`{"max_tokens": 0}`, "max_tokens is 0: write a whole number above 0"},
		{`{"max_tokens": "many"}`, "max_tokens is text: write a whole number above 0"},
		{`{"max_tokens": 1.5}`, "max_tokens is 1.5: write a whole number above 0"},
		{`{"temperature": 1.5}`, "temperature is 1.5: use 0 to 1"},
		{`{"top_p": -1}`, "top_p is -1: use 0 to 1"},
		{`{"thinking": 100}`, "thinking is 100: use at least 1024 tokens, or adaptive"},
		{`{"thinking": "much"}`, "thinking: write a number of tokens, or adaptive"},
		{`{"thinking": -1}`, "thinking: write a number of tokens, or adaptive"},
		{`{"thinking": 4096, "max_tokens": 4096}`, "leaves nothing of max_tokens"},
		{`{"thinking": 4096, "temperature": 0}`, "exclude each other"},
		{`{"timeout": 30}`, "timeout is 30: write a time with its unit, for example timeout: 5m"},
		{`{"timeout": "-1s"}`, "timeout is text: write a time with its unit, for example timeout: 5m"},
		{`{"stream": "no"}`, "stream: write true or false"},
		{`{"prompt_cache": 1}`, "prompt_cache: write true or false"},
		{`{"base_url": "https://user:pa55word@host"}`, "holds a user name or password"},
		{`{"base_url": "https://host?key=pa55word"}`, "ends in a query"},
		{`{"base_url": "host/v1"}`, "names no host"},
		{`{"base_url": "ftp://host"}`, "neither https nor http"},
		{`{"base_url": "http://models.example"}`, "unencrypted to another machine"},
		{`{"base_url": "https://host/v1/messages"}`, "remove /messages"},
		{`{"headers": "x"}`, "headers: write headers by name, for example {X-Title: Usher}"},
		{`{"headers": {"x-api-key": "env:USHER_TEST_KEY"}}`, "has a setting of its own: use key"},
		{`{"headers": {"Authorization": "Bearer sk-ant-secret"}}`, "Authorization: a key does not belong"},
		{`{"headers": {"Host": "x"}}`, "set by the request itself"},
		{`{"headers": {"a b": "x"}}`, "is not the name of a header"},
		{`{"headers": {"a": "x\ny"}}`, "line break"},
		{`{"headers": {"a": "x", "A": "y"}}`, "stands there twice"},
	} {
		settings := make(map[string]any)
		dec := json.NewDecoder(strings.NewReader(tc.settings))
		dec.UseNumber()
		if err := dec.Decode(&settings); err != nil {
			t.Fatal(err)
		}
		_, hasKey := settings["key"]
		if len(settings) > 0 && !hasKey {
			settings["key"] = "env:USHER_TEST_KEY"
			if _, ok := settings["model"]; !ok {
				settings["model"] = "claude-test"
			}
		}
		m, err := provide(t, settings)
		if err == nil {
			err = m.(*anthropic.Model).Ready(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("settings %s: %v, want an error with %q", tc.settings, err, tc.want)
			continue
		}
		for _, secret := range []string{"sk-ant-secret", "secret-part", "pa55word", testKey} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("settings %s: the error shows a secret: %v", tc.settings, err)
			}
		}
	}
}

func TestSecretsPrintRedacted(t *testing.T) {
	o := anthropic.Options{Options: endpoint.Options{Key: testKey, Headers: endpoint.Headers{"A": testKey}}}
	raw, err := json.Marshal(map[string]any{"key": o.Key, "headers": o.Headers})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%v %+v %#v %s %x %q %d", o, o, o, o.Key, o.Key, o.Key, o.Key) + string(raw) + slog.AnyValue(o.Key).Resolve().String()
	if strings.Contains(text, testKey) || strings.Contains(text, fmt.Sprintf("%x", testKey)) {
		t.Errorf("a secret is printed: %s", text)
	}
}
