package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
)

var update = flag.Bool("update", false, "write the golden files")

const testKey = "sk-ant-test-0123456789"

// api is a loopback server that speaks the Messages API as its answers say, one
// a request, the last one again and again.
type api struct {
	*httptest.Server
	dial    func(context.Context, string, string) (net.Conn, error) // nil where it is on loopback
	mu      sync.Mutex
	answers []http.HandlerFunc
	paths   []string
	bodies  [][]byte
	headers []http.Header
}

func serve(t *testing.T, answers ...http.HandlerFunc) *api {
	t.Helper()
	s := newAPI(answers)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// serveInBubble is serve in memory, so that a bubble of virtual time can hold
// the server and its client.
func serveInBubble(t *testing.T, answers ...http.HandlerFunc) *api {
	t.Helper()
	s := newAPI(answers)
	p := &pipes{fresh: make(chan net.Conn), closed: make(chan struct{})}
	s.Listener, s.dial = p, p.dial
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// pipes is a listener whose connections are in memory.
type pipes struct {
	fresh  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.fresh <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.fresh:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func newAPI(answers []http.HandlerFunc) *api {
	s := &api{answers: answers}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/messages") {
			http.Error(w, "not the Messages API", http.StatusNotFound)
			return
		}
		s.mu.Lock()
		s.paths = append(s.paths, r.URL.Path)
		s.bodies = append(s.bodies, body)
		s.headers = append(s.headers, r.Header.Clone())
		answer := s.answers[min(len(s.bodies), len(s.answers))-1]
		s.mu.Unlock()
		answer(w, r)
	}))
	return s
}

func (s *api) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// model is a model of the server, as the options change it.
func (s *api) model(t *testing.T, change ...func(*anthropic.Options)) *anthropic.Model {
	t.Helper()
	o := anthropic.Options{Options: endpoint.Options{Model: "claude-test", BaseURL: s.URL, Key: testKey}}
	if s.dial != nil {
		transport := &http.Transport{DialContext: s.dial}
		t.Cleanup(transport.CloseIdleConnections)
		o.Transport = transport
	}
	for _, f := range change {
		f(&o)
	}
	m, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// events is a stream of server-sent events, from lines of JSON; each is named
// by its type. It is sent in pieces of the given size.
func events(size int, lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		var b bytes.Buffer
		for _, line := range lines {
			var ev struct {
				Type string `json:"type"`
			}
			_ = json.Unmarshal([]byte(line), &ev) // what is no JSON is sent as it is
			if ev.Type == "" {
				ev.Type = "content_block_delta"
			}
			b.WriteString("event: " + ev.Type + "\ndata: " + line + "\n\n")
		}
		for chunk := b.Bytes(); len(chunk) > 0; {
			n := min(size, len(chunk))
			_, _ = w.Write(chunk[:n])
			w.(http.Flusher).Flush()
			chunk = chunk[n:]
		}
	}
}

// Parts of streams.
const (
	begin    = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-test","stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":200,"cache_creation_input_tokens":30,"output_tokens":1}}}`
	ping     = `{"type":"ping"}`
	text0    = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	stop0    = `{"type":"content_block_stop","index":0}`
	endTurn  = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":12}}`
	endTools = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":40}}`
	end      = `{"type":"message_stop"}`
)

func delta0(text string) string {
	raw, _ := json.Marshal(text)
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + string(raw) + `}}`
}

// used is what was used when begin has come, and out tokens.
func used(out int) runtime.Usage {
	return runtime.Usage{Input: 240, Output: out, CacheRead: 200, CacheWrite: 30}
}

func hello(size int) http.HandlerFunc {
	return events(size, begin, ping, text0, delta0("Grüß "), ping, delta0("Gott 👋"), stop0, endTurn, end)
}

func reply(status int, header http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// got is an answer put together.
type got struct {
	Text, Reasoning string
	Calls           []runtime.ToolCall
	Usage           runtime.Usage
	Finish          string
}

func ask(t *testing.T, m runtime.Model, req *runtime.Request) (got, error) {
	t.Helper()
	var g got
	var failure error
	ended, named := false, false
	_, alone := m.(*anthropic.Model) // a wrapper may ask twice
	for c, err := range m.Generate(t.Context(), req) {
		if ended {
			t.Errorf("after its error, the sequence yields %+v, %v", c, err)
		}
		if err != nil {
			failure, ended = err, true
			continue
		}
		if c.Model != "" && named && alone {
			t.Errorf("who answers is said twice: %+v", c)
		}
		named = named || c.Model != ""
		g.Text += c.Text
		g.Reasoning += c.Reasoning
		if d := c.Call; d != nil {
			if d.Index == len(g.Calls) {
				g.Calls = append(g.Calls, runtime.ToolCall{ID: d.ID, Name: d.Name})
			}
			g.Calls[d.Index].Arguments += d.Arguments
		}
		if c.Usage != nil {
			g.Usage = *c.Usage
		}
		if c.Finish != "" {
			g.Finish = c.Finish
		}
	}
	if failure != nil && strings.Contains(failure.Error(), testKey) {
		t.Errorf("the key stands in the error: %v", failure)
	}
	return g, failure
}

// byByte is a transport whose answers come byte by byte: lines, their ends and
// characters are cut wherever they can be.
type byByte struct{ *http.Transport }

func (t byByte) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.Transport.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{iotest.OneByteReader(res.Body), res.Body}
	}
	return res, err
}

func cutting(o *anthropic.Options) { o.Transport = byByte{new(http.Transport)} }

func user(text string) runtime.Message { return runtime.Message{Role: runtime.RoleUser, Text: text} }

func say(text string) *runtime.Request {
	return &runtime.Request{Messages: []runtime.Message{user(text)}}
}

// golden compares a request body with testdata/anthropic/requests/name.json.
func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		t.Fatalf("the request is no JSON: %v\n%s", err, body)
	}
	b.WriteByte('\n')
	path := filepath.Join("testdata", "anthropic", "requests", name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("request %s (-want +got):\n%s", name, diff)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[string]bool)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.RemoteAddr] = true
		mu.Unlock()
		hello(1<<20)(w, r)
	})
	m := s.model(t)
	for range 3 {
		if _, err := ask(t, m, say("Hi")); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 1 {
		t.Errorf("3 requests took %d connections, want 1", len(seen))
	}
}

// A consumer that leaves stops the request.
func TestConsumerLeaves(t *testing.T) {
	gone := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		events(1<<20, begin, text0, delta0("Hi"))(w, r)
		<-r.Context().Done()
		close(gone)
	})
	for c, err := range s.model(t).Generate(t.Context(), say("Hi")) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Text != "" {
			break
		}
	}
	<-gone // or the test does not end: the request goes on without its consumer
}

func TestConcurrentUse(t *testing.T) {
	s := serve(t, hello(7))
	m := s.model(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if g, err := ask(t, m, say("Hi")); err != nil || g.Text != "Grüß Gott 👋" {
				t.Errorf("got %q, %v", g.Text, err)
			}
		})
	}
	wg.Wait()
}
