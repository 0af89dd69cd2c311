package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/endpoint"
)

func TestSettingsRefused(t *testing.T) {
	t.Setenv("EMPTY", " ")
	t.Setenv("TWO_LINES", "sk-abc\ndef")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	type set = map[string]any
	for name, tt := range map[string]struct {
		settings set
		want     string
	}{
		"misspelt":               {set{"modle": "x"}, `no setting "modle": did you mean model?`},
		"unknown":                {set{"frequency_penalty": json.Number("1")}, `no setting "frequency_penalty": its settings are allow_http, api_type, `},
		"no model":               {set{}, "model is missing"},
		"model of another type":  {set{"model": json.Number("4")}, `model is a number: in quotes it is text, model: "4"`},
		"key of a shell":         {set{"model": "x", "key": "${OPENAI_API_KEY}"}, "key: a variable of the environment is not named like this here: write env:OPENAI_API_KEY"},
		"no key":                 {set{"model": "x"}, "key is missing, and api.openai.com answers nobody without one: write where it stands, for example key: env:OPENAI_API_KEY"},
		"no key, same address":   {set{"model": "x", "base_url": "https://API.openai.com/v1"}, "key is missing"},
		"no key, no model":       {set{}, "model is missing: name the model as the server does, for example gpt-5-mini\nkey is missing"},
		"no key but a title":     {set{"model": "x", "headers": set{"X-Title": "Usher"}}, "key is missing"},
		"literal key":            {set{"model": "x", "key": "sk-literal-0123"}, "key: a key does not belong into a configuration: put it into an environment variable, a file or the venue's secrets, and write env:NAME, file:PATH or secret:NAME"},
		"key of another type":    {set{"model": "x", "key": []any{"sk-literal-0123"}}, "key: write env:NAME, file:PATH or secret:NAME"},
		"no venue":               {set{"model": "x", "key": "secret:openai"}, "key: this program has no venue to keep secrets in: use env:NAME or file:PATH"},
		"no such variable":       {set{"model": "x", "key": "env:NO_SUCH_VARIABLE"}, "environment variable NO_SUCH_VARIABLE is not set"},
		"empty variable":         {set{"model": "x", "key": "env:EMPTY"}, "environment variable EMPTY is empty"},
		"key of two lines":       {set{"model": "x", "key": "env:TWO_LINES"}, "key holds a line break"},
		"no such file":           {set{"model": "x", "key": "file:/no/such/file"}, "no such file"},
		"empty file":             {set{"model": "x", "key": "file:" + empty}, "is empty"},
		"key that is a folder":   {set{"model": "x", "key": "file:" + filepath.Dir(empty)}, "is not a file of at most"},
		"plain http":             {set{"model": "x", "base_url": "http://example.com/v1"}, "use https, or set allow_http: true"},
		"plain http, look-alike": {set{"model": "x", "base_url": "http://localhost.example.com/v1"}, "allow_http"},
		"plain http, number":     {set{"model": "x", "base_url": "http://0.0.0.0/v1"}, "allow_http"},
		"other scheme":           {set{"model": "x", "base_url": "ftp://localhost"}, "neither https nor http"},
		"no scheme":              {set{"model": "x", "base_url": "localhost:11434/v1"}, "names no host"},
		"no host":                {set{"model": "x", "base_url": "https:///v1"}, "names no host"},
		"user in the address":    {set{"model": "x", "base_url": "https://me:sk-literal-0123@host/v1"}, "holds a user name or password"},
		"bad address":            {set{"model": "x", "base_url": "https://me:sk-literal-0123@ho st/v1"}, "base_url is not an address"},
		"query in the address":   {set{"model": "x", "base_url": "https://host/v1?key=sk-literal-0123"}, "ends in a query"},
		"endpoint as address":    {set{"model": "x", "base_url": "https://host/v1/chat/completions"}, "remove /chat/completions"},
		"api_type":               {set{"model": "x", "api_type": "palm"}, `api_type "palm": write openai or azure`},
		"api_version":            {set{"model": "x", "api_version": "1"}, "api_version belongs to Azure"},
		"azure without address":  {set{"model": "x", "api_type": "azure", "api_version": "1"}, "base_url is missing"},
		"azure without version":  {set{"model": "x", "api_type": "azure", "base_url": "https://a"}, "api_version is missing"},
		"azure, dots":            {set{"model": "..", "api_type": "azure", "api_version": "1", "base_url": "https://a"}, "name the deployment"},
		"temperature":            {set{"model": "x", "temperature": json.Number("2.1")}, "temperature is 2.1: use 0 to 2"},
		"temperature as text":    {set{"model": "x", "temperature": "0.7"}, "temperature is text: write a number"},
		"top_p":                  {set{"model": "x", "top_p": json.Number("-1")}, "top_p is -1: use 0 to 1"},
		"max_tokens":             {set{"model": "x", "max_tokens": json.Number("0")}, "max_tokens is 0: write a whole number above 0"},
		"seed":                   {set{"model": "x", "seed": json.Number("1.5")}, "seed is 1.5: write a whole number"},
		"timeout":                {set{"model": "x", "timeout": json.Number("5")}, "timeout is 5: write a time with its unit, for example timeout: 5m"},
		"stream":                 {set{"model": "x", "stream": "yes"}, "stream: write true or false"},
		"parallel_tool_calls":    {set{"model": "x", "parallel_tool_calls": nil}, "parallel_tool_calls is null: write true or false"},
		"output":                 {set{"model": "x", "output": "xml"}, `output "xml": write json_schema or json_object or text`},
		"headers":                {set{"model": "x", "headers": "a: b"}, "headers: write headers by name, for example {X-Title: Usher}"},
		"header's type":          {set{"model": "x", "headers": set{"X-A": true}}, "headers: X-A: write text (put it into quotes)"},
		"header twice":           {set{"model": "x", "headers": set{"x-a": "1", "X-A": "2"}}, "stands there twice"},
		"header's name":          {set{"model": "x", "headers": set{"X A": "1"}}, `"X A" is not the name of a header`},
		"header of the request":  {set{"model": "x", "headers": set{"content-type": "1"}}, "Content-Type is set by the request itself"},
		"header's value":         {set{"model": "x", "headers": set{"X-A": "1\r\nX-B: 2"}}, "headers: X-A holds a line break"},
		"literal authorization":  {set{"model": "x", "headers": set{"Authorization": "Bearer sk-literal-0123"}}, "headers: Authorization: a key does not belong"},
		"literal x-api-key":      {set{"model": "x", "headers": set{"X-API-Key": "sk-literal-0123"}}, "headers: X-API-Key: a key does not belong"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Provider(t.Context(), runtime.ModelConfig{Name: "m", Provider: Name, Settings: tt.settings})
			if err == nil {
				err = m.(*Model).Ready(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Provider(%v) = %v, want %q", tt.settings, err, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), "sk-literal") || strings.Contains(err.Error(), "sk-abc")) {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

// Who asks another server than OpenAI's, or brings the key in a header, needs
// no key.
func TestSettingsWithoutAKey(t *testing.T) {
	t.Setenv("GATEWAY", "Bearer 0123456789")
	for name, settings := range map[string]map[string]any{
		"another server": {"model": "x", "base_url": "http://localhost:11434/v1"},
		"a header":       {"model": "x", "headers": map[string]any{"authorization": "env:GATEWAY"}},
		"azure":          {"model": "x", "api_type": "azure", "base_url": "https://r.openai.azure.com/openai/v1"},
	} {
		m, err := Provider(t.Context(), runtime.ModelConfig{Name: "m", Provider: Name, Settings: settings})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = m.(*Model).Close()
	}
}

func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{}, "https://api.openai.com/v1/chat/completions"},
		{Options{Options: endpoint.Options{BaseURL: "https://openrouter.ai/api/v1/"}}, "https://openrouter.ai/api/v1/chat/completions"},
		{Options{Options: endpoint.Options{BaseURL: "http://localhost:11434/v1"}}, "http://localhost:11434/v1/chat/completions"},
		{Options{Options: endpoint.Options{BaseURL: "http://[::1]:8000"}}, "http://[::1]:8000/chat/completions"},
		{Options{Options: endpoint.Options{BaseURL: "http://127.9.9.9"}}, "http://127.9.9.9/chat/completions"},
		{Options{Options: endpoint.Options{BaseURL: "http://10.0.0.1/v1", AllowHTTP: true}}, "http://10.0.0.1/v1/chat/completions"},
		{Options{Options: endpoint.Options{BaseURL: "https://r.openai.azure.com/", Model: "a b"}, APIType: apiAzure, APIVersion: "2024-10-21"}, "https://r.openai.azure.com/openai/deployments/a%20b/chat/completions?api-version=2024-10-21"},
		{Options{Options: endpoint.Options{BaseURL: "https://r.openai.azure.com/openai/v1"}, APIType: apiAzure, APIVersion: "preview"}, "https://r.openai.azure.com/openai/v1/chat/completions?api-version=preview"},
	} {
		if got, err := tt.o.address(); err != nil || got.String() != tt.want {
			t.Errorf("address of %+v = %v, %v, want %q", tt.o, got, err, tt.want)
		}
	}
}

func TestKeyOfTheVenue(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+testKey {
			t.Errorf("Authorization %q", got)
		}
		if got := r.Header.Get("X-Gateway"); got != "token of gateway" {
			t.Errorf("X-Gateway %q", got)
		}
		_, _ = io.WriteString(w, done)
	}))
	defer server.Close()
	m, err := Provider(t.Context(), runtime.ModelConfig{
		Name: "m", Provider: Name,
		Settings: map[string]any{
			"model": "x", "base_url": server.URL, "key": "secret:openai", "headers": map[string]any{"X-Gateway": "secret:gateway"},
		},
		Secret: func(_ context.Context, name string) (string, error) {
			return map[string]string{"openai": testKey, "gateway": "token of gateway"}[name], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.(*Model).Close()
	if _, err := collect(t.Context(), m, hello); err != nil {
		t.Fatal(err)
	}
}

func TestAbout(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want runtime.About
	}{
		{Options{Options: endpoint.Options{Model: "gpt-5-mini"}}, runtime.About{Provider: "openai", Model: "gpt-5-mini", Server: "api.openai.com"}},
		{Options{Options: endpoint.Options{Model: "gpt-5"}, ReasoningEffort: "low"}, runtime.About{Provider: "openai", Model: "gpt-5", Server: "api.openai.com", Reasons: true}},
		{Options{Options: endpoint.Options{Model: "gpt-5"}, ReasoningEffort: "none"}, runtime.About{Provider: "openai", Model: "gpt-5", Server: "api.openai.com"}},
		{Options{Options: endpoint.Options{Model: "qwen3", BaseURL: "http://localhost:11434/v1"}}, runtime.About{Provider: "openai", Model: "qwen3", Server: "localhost:11434"}},
		{
			Options{Options: endpoint.Options{Model: "mine", BaseURL: "https://r.openai.azure.com:443"}, APIType: apiAzure, APIVersion: "2024-10-21"},
			runtime.About{Provider: "azure.ai.openai", Model: "mine", Server: "r.openai.azure.com"},
		},
	} {
		m, err := New(tt.o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, runtime.Describe(m)); diff != "" {
			t.Errorf("about %+v (-want +got):\n%s", tt.o, diff)
		}
	}
}

// However a model or its options are printed, the key is not among it.
func TestSecretsDoNotPrint(t *testing.T) {
	o := Options{Options: endpoint.Options{Model: "m", Key: testKey, Headers: endpoint.Headers{"X-Token": testKey}}}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("model", "model", m, "key", o.Key, "headers", o.Headers)
	}
	printed := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		printed += fmt.Sprintf(verb, m) + fmt.Sprintf(verb, *m) + fmt.Sprintf(verb, o.Key) + fmt.Sprintf(verb, o) + fmt.Sprintf(verb, o.Headers)
	}
	raw, err := json.Marshal(map[string]any{"key": o.Key, "headers": o.Headers})
	if err != nil {
		t.Fatal(err)
	}
	printed += string(raw)
	for _, form := range []string{testKey, fmt.Sprintf("%x", testKey), fmt.Sprint([]byte(testKey))} {
		if strings.Contains(printed, form) {
			t.Errorf("the key is printed: %s", printed)
		}
	}
	if got, want := m.String(), "openai model m at https://api.openai.com/v1/chat/completions"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
