package openai

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"usher/runtime"
	"usher/runtime/endpoint"
)

var update = flag.Bool("update", false, "write what was got as what is wanted")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// serve starts a server on loopback and returns the model that asks it.
// The options are those of the settings, as they are changed.
func serve(t testing.TB, from map[string]any, handler http.HandlerFunc, change ...func(*Options)) *Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	all := map[string]any{"model": "test-model", "base_url": server.URL + "/v1"}
	for name, value := range from {
		if s, ok := value.(string); ok {
			value = strings.ReplaceAll(s, "$SERVER", server.URL)
		}
		all[name] = value
	}
	var o Options
	if err := endpoint.Read("provider "+Name, all, &o); err != nil {
		t.Fatal(err)
	}
	o.Secrets = endpoint.SecretsOf(runtime.ModelConfig{})
	for _, f := range change {
		f(&o)
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

var hello = &runtime.Request{Messages: []runtime.Message{{Role: runtime.RoleUser, Text: "Hello"}}}

// collected is an answer put together as the runtime does it.
type collected struct {
	text, reasoning string
	calls           []runtime.ToolCall
	usage           runtime.Usage
	finish, model   string
}

func collect(ctx context.Context, m runtime.Model, req *runtime.Request) (c collected, err error) {
	for chunk, err := range m.Generate(ctx, req) {
		if err != nil {
			return c, err
		}
		if chunk.Model != "" && c.model != "" {
			return c, errors.New("who answers is said twice")
		}
		c.model += chunk.Model
		c.text += chunk.Text
		c.reasoning += chunk.Reasoning
		if d := chunk.Call; d != nil {
			if d.Index == len(c.calls) {
				c.calls = append(c.calls, runtime.ToolCall{})
			}
			call := &c.calls[d.Index]
			if d.ID != "" && call.ID != "" || d.Name != "" && call.Name != "" {
				return c, fmt.Errorf("call %d got its id or name twice", d.Index)
			}
			call.ID += d.ID
			call.Name += d.Name
			call.Arguments += d.Arguments
		}
		if chunk.Usage != nil {
			c.usage = *chunk.Usage
		}
		if chunk.Finish != "" {
			c.finish = chunk.Finish
		}
	}
	return c, nil
}

// String is the form in which transcripts say what is wanted.
func (c collected) String() string {
	var b strings.Builder
	if c.model != "" {
		fmt.Fprintf(&b, "model %s\n", c.model)
	}
	if c.reasoning != "" {
		fmt.Fprintf(&b, "reasoning %s\n", c.reasoning)
	}
	if c.text != "" {
		fmt.Fprintf(&b, "text %s\n", c.text)
	}
	for _, call := range c.calls {
		fmt.Fprintf(&b, "call id=%s name=%s %s\n", call.ID, call.Name, call.Arguments)
	}
	if c.usage != (runtime.Usage{}) {
		fmt.Fprintf(&b, "usage %d in, %d out", c.usage.Input, c.usage.Output)
		if c.usage.CacheRead != 0 || c.usage.CacheWrite != 0 {
			fmt.Fprintf(&b, ", %d from the cache, %d into it", c.usage.CacheRead, c.usage.CacheWrite)
		}
		b.WriteByte('\n')
	}
	if c.finish != "" {
		fmt.Fprintf(&b, "finish %s\n", c.finish)
	}
	return b.String()
}

// errorName names the sentinel in a transcript.
func errorName(err error) string {
	var said *endpoint.Error
	for name, known := range map[string]error{
		"ErrRefused": endpoint.ErrRefused, "ErrFiltered": endpoint.ErrFiltered, "ErrCut": endpoint.ErrCut, "ErrFormat": endpoint.ErrFormat, "ErrTimeout": endpoint.ErrTimeout,
		"ErrWindow": runtime.ErrWindow,
	} {
		if errors.Is(err, known) {
			return name
		}
	}
	if errors.As(err, &said) {
		return "Error"
	}
	return fmt.Sprintf("%T", err)
}

// byByte is a transport whose answers come byte by byte.
type byByte struct{ http.RoundTripper }

func (t byByte) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{iotest.OneByteReader(res.Body), res.Body}
	}
	return res, err
}

func (t byByte) CloseIdleConnections() { t.RoundTripper.(*http.Transport).CloseIdleConnections() }

// TestAnswers runs the transcripts of testdata/answers: a "stream" of events or
// a "whole" answer, sent and received in pieces of several sizes, so that lines,
// their ends, characters and escapes are split everywhere. \xNN in a stream stands for that byte.
func TestAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/answers/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{1, 7, 1 << 20} {
				got := replay(t, archive, size)
				if want := part(archive, "want"); got != want {
					if *update {
						setPart(archive, "want", got)
						if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
							t.Fatal(err)
						}
						continue
					}
					t.Errorf("in writes of %d bytes (-want +got):\n%s", size, cmp.Diff(want, got))
				}
			}
		})
	}
}

func replay(t *testing.T, archive *txtar.Archive, size int) string {
	t.Helper()
	body, kind := part(archive, "stream"), "text/event-stream"
	set := map[string]any{}
	if body == "" {
		body, kind = part(archive, "whole"), "application/json"
		set["stream"] = false
	}
	for n := range 256 {
		body = strings.ReplaceAll(body, fmt.Sprintf(`\x%02x`, n), string([]byte{byte(n)}))
	}
	m := serve(t, set, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for body := body; body != ""; {
			n := min(size, len(body))
			_, _ = io.WriteString(w, body[:n])
			w.(http.Flusher).Flush()
			body = body[n:]
		}
	}, func(o *Options) {
		if size == 1 {
			o.Transport = byByte{http.DefaultTransport}
		}
	})
	c, err := collect(t.Context(), m, hello)
	out := c.String()
	if err != nil {
		temporary, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err)
		out += fmt.Sprintf("error %s (temporary %t): %v\n", errorName(err), ok && temporary.Temporary(), err)
	}
	return out
}

// TestRequests checks what is sent, byte by byte: from "settings" and a
// "request", the request line and headers, and the body.
func TestRequests(t *testing.T) {
	t.Setenv("TEST_KEY", "sk-test-key")
	files, err := filepath.Glob("testdata/requests/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no requests", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			settings := map[string]any{}
			dec := json.NewDecoder(strings.NewReader(part(archive, "settings")))
			dec.UseNumber()
			if err := dec.Decode(&settings); err != nil {
				t.Fatal(err)
			}
			var req runtime.Request
			if err := json.Unmarshal([]byte(part(archive, "request")), &req); err != nil {
				t.Fatal(err)
			}
			var head, body string
			m := serve(t, settings, func(w http.ResponseWriter, r *http.Request) {
				head = r.Method + " " + r.URL.RequestURI() + "\n"
				for _, name := range []string{"Accept", "Api-Key", "Authorization", "Content-Type", "OpenAI-Organization", "User-Agent", "X-Extra"} {
					if value := r.Header.Get(name); value != "" {
						head += name + ": " + value + "\n"
					}
				}
				raw, _ := io.ReadAll(r.Body)
				body = string(raw) + "\n"
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
			})
			if _, err := collect(t.Context(), m, &req); err != nil {
				t.Fatal(err)
			}
			if !json.Valid([]byte(body)) {
				t.Errorf("the body is not JSON: %s", body)
			}
			for name, got := range map[string]string{"head": head, "body": body} {
				if want := part(archive, name); got != want {
					if *update {
						setPart(archive, name, got)
						continue
					}
					t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(want, got))
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func part(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func setPart(archive *txtar.Archive, name, data string) {
	for i, f := range archive.Files {
		if f.Name == name {
			archive.Files[i].Data = []byte(data)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(data)})
}
