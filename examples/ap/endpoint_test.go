package ap

import (
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/venue/config"
)

// loopback is a server on loopback that speaks the Chat Completions format,
// with a model of ours behind each agent, known by its prompt.
type loopback struct {
	t      *testing.T
	cfg    *config.Config
	brains map[string]runtime.Model // by agent
	url    string

	refuse func(*asked) bool // with the key; nil refuses agents without a model

	mu       sync.Mutex
	seen     []asked
	requests int
}

// asked is a request as the server saw it.
type asked struct {
	Agent         string
	ByAgent       bool // another agent asked it
	Task          string
	Authorization string
	System        string
	Tools         []string
	Usage         runtime.Usage
}

// theirs are the department's own programs, by agent.
func theirs(t *testing.T, cfg *config.Config) map[string]runtime.Model {
	t.Helper()
	out := make(map[string]runtime.Model)
	for _, a := range cfg.Agents {
		if cfg.Models[a.Model].Provider == offline.Name {
			continue
		}
		m, err := Providers().Model(t.Context(), runtime.ModelConfig{Name: a.Model, Provider: cfg.Models[a.Model].Provider})
		if err != nil {
			t.Fatal(err)
		}
		out[a.ID] = m
	}
	return out
}

func serve(t *testing.T, brains map[string]runtime.Model) *loopback {
	t.Helper()
	e := &loopback{t: t, cfg: mustConfig(t), brains: brains}
	server := httptest.NewServer(http.HandlerFunc(e.chat))
	t.Cleanup(server.Close)
	e.url = server.URL + "/v1"
	return e
}

// chat answers one request.
func (e *loopback) chat(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.requests++
	e.mu.Unlock()
	var body struct {
		Messages []struct {
			Role       string  `json:"role"`
			Content    *string `json:"content"`
			ToolCallID string  `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		Stream bool `json:"stream"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/chat/completions" || !body.Stream {
		http.Error(w, "not a streamed chat completion", http.StatusBadRequest)
		return
	}
	req := &runtime.Request{}
	for _, m := range body.Messages {
		text := ""
		if m.Content != nil {
			text = *m.Content
		}
		if m.Role == "system" {
			req.System = text
			continue
		}
		said := runtime.Message{Role: m.Role, Text: text, CallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			said.Calls = append(said.Calls, runtime.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		req.Messages = append(req.Messages, said)
	}
	got := asked{Authorization: r.Header.Get("Authorization"), System: req.System, Tools: []string{}}
	for _, tool := range body.Tools {
		req.Tools = append(req.Tools, runtime.Tool{Name: tool.Function.Name, Input: tool.Function.Parameters})
		got.Tools = append(got.Tools, tool.Function.Name)
	}
	for _, a := range e.cfg.Agents {
		if strings.HasPrefix(req.System, strings.TrimSpace(a.Prompt)) {
			got.Agent = a.ID
		}
	}
	for _, m := range req.Messages {
		if m.Role == runtime.RoleUser {
			got.Task = m.Text
		}
		got.ByAgent = got.ByAgent || m.Role == runtime.RoleUser && strings.HasPrefix(m.Text, runtime.TaskFrom)
	}
	brain := e.brains[got.Agent]
	if brain == nil || e.refuse != nil && e.refuse(&got) {
		http.Error(w, `{"error":{"message":"no such key","code":"invalid_api_key"}}`, http.StatusUnauthorized)
		return
	}
	e.answer(w, brain.Generate(r.Context(), req), &got)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, got)
}

// answer streams an answer in awkward pieces: text and arguments cut anywhere,
// the calls interleaved, comments between, the usage last.
func (e *loopback) answer(w http.ResponseWriter, chunks iter.Seq2[runtime.Chunk, error], got *asked) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(v any) {
		raw, err := json.Marshal(v)
		if err != nil {
			e.t.Error(err)
		}
		_, _ = io.WriteString(w, ": keep-alive\n\ndata: "+string(raw)+"\n\n")
	}
	delta := func(d object, finish any) {
		send(object{"id": "chatcmpl-1", "model": "loopback-1", "choices": []any{object{"index": 0, "delta": d, "finish_reason": finish}}})
	}
	var texts []string
	var finish any
	var calls [][]object // the deltas of each call
	for chunk, err := range chunks {
		if err != nil {
			e.t.Errorf("brain: %v", err)
		}
		texts = append(texts, pieces(chunk.Text)...)
		got.Usage.Output += len(chunk.Text)
		if chunk.Finish != "" {
			finish = chunk.Finish
		}
		if c := chunk.Call; c != nil {
			deltas := []object{{"index": c.Index, "id": "call_" + strings.Repeat("i", c.Index+1), "type": "function", "function": object{"name": c.Name, "arguments": ""}}}
			for _, part := range pieces(c.Arguments) {
				deltas = append(deltas, object{"index": c.Index, "function": object{"arguments": part}})
			}
			calls = append(calls, deltas)
			got.Usage.Output += len(c.Arguments)
		}
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	w.(http.Flusher).Flush()
	for _, text := range texts {
		delta(object{"content": text}, nil)
	}
	for i, more := 0, true; more; i++ {
		more = false
		for _, deltas := range calls {
			if i < len(deltas) {
				delta(object{"tool_calls": []any{deltas[i]}}, nil)
				more = true
			}
		}
	}
	delta(object{}, finish)
	got.Usage.Input = len(got.System)
	send(object{"choices": []any{}, "usage": object{"prompt_tokens": got.Usage.Input, "completion_tokens": got.Usage.Output, "total_tokens": got.Usage.Input + got.Usage.Output}})
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// pieces cuts a text between escapes and their letters as anywhere else.
func pieces(s string) (out []string) {
	runes := []rune(s)
	for i := 0; len(runes) > 0; i++ {
		n := min([]int{1, 40, 2, 7, 90}[i%5], len(runes))
		out, runes = append(out, string(runes[:n])), runes[n:]
	}
	return out
}

const key = "sk-loopback-0123456789"

// configuration names the endpoint in a file, beside names that the demo has
// too and a model that cannot be made.
func (e *loopback) configuration(more string) string {
	e.t.Helper()
	e.t.Setenv("AP_TEST_KEY", key)
	file := filepath.Join(e.t.TempDir(), "usher.yaml")
	text := `
models:
  local: {provider: openai, model: loopback-1, base_url: ` + e.url + `, key: env:AP_TEST_KEY` + more + `}
  instructions: {provider: ap/scanner}
  manager: {provider: openai, model: loopback-1, base_url: ` + e.url + `, key: env:AP_TEST_KEY_NOT_SET}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
	return file
}
