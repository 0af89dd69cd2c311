package server_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"usher/runtime"
	"usher/venue"
	"usher/venue/server"
	"usher/venue/venuetest"
)

// The faces a2a, agentauth, completions, face, hooks, login and mcp are tested here, in one program: each test
// program links the whole venue.

func TestMain(m *testing.M) {
	if role := os.Getenv(suiteRole); role != "" {
		suiteProgram(role)
		return
	}
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(serveChild(dir))
	}
	venuetest.CollectLess()
	goleak.VerifyTestMain(m)
}

// slow is a model that says that it was asked, and answers when it is let go on.
type slow struct {
	asked chan struct{}
	goOn  chan struct{}
}

func (s *slow) Generate(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		s.asked <- struct{}{}
		select {
		case <-s.goOn:
			yield(runtime.Chunk{Text: "done"}, nil)
		case <-ctx.Done():
			yield(runtime.Chunk{}, context.Cause(ctx))
		}
	}
}

// text is what several goroutines write to.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// open serves a venue with an agent bob, whose model is slow. stop ends the server and
// returns what came of that.
func open(t *testing.T, grace time.Duration) (url, token string, model *slow, log *text, stop func() error) {
	t.Helper()
	model, log = &slow{make(chan struct{}), make(chan struct{})}, new(text)
	v, err := venue.Open(t.Context(), &venue.Options{Models: map[string]runtime.Model{"default": model}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Invoke(t.Context(), "agent:create", map[string]any{"agentId": "bob", "config": map[string]any{"caps": []string{}}}); err != nil {
		t.Fatal(err)
	}
	if token, err = v.Session(t.Context(), alice, time.Hour); err != nil {
		t.Fatal(err)
	}
	s, err := server.New(v, &server.Options{Grace: grace, Logger: slog.New(slog.NewJSONHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return "http://" + l.Addr().String(), token, model, log, stop
}

func get(t *testing.T, method, url, token, body string) (status int, head http.Header, said string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err.Error()
	}
	return resp.StatusCode, resp.Header, string(raw)
}

func TestServe(t *testing.T) {
	url, token, _, log, stop := open(t, 0)
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"/healthz", 200, "ok"},
		{"/readyz", 200, "ready"},
		{"/.well-known/did.json", 200, `"verificationMethod":`},
		{"/", 404, "/api/v1"},
		{"/api/v1/status", 200, `"status":"OK"`},
		{"/openapi.json", 200, `"openapi":"3.1.0"`},
		{"/api/v1/me", 401, `"error":"unauthenticated"`},
		{"/v1/models", 401, `"type":"authentication_error"`},
		{"/hooks/nothing", 405, `a webhook takes POST`},
		{"/api/v1/nothing", 404, `"error":"no_route"`},
	} {
		status, head, said := get(t, "GET", url+tt.path, "", "")
		if status != tt.status || !strings.Contains(said, tt.want) || head.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %s, want %d with %s", tt.path, status, said, tt.status, tt.want)
		}
	}
	if status, _, said := get(t, "GET", url+"/api/v1/values?path=w/private", token, ""); status != 200 {
		t.Errorf("%d %s", status, said)
	}
	_, _, me := get(t, "GET", url+"/api/v1/me", token, "")
	did := regexp.MustCompile(`did:key:\w+`).FindString(me)
	for path, want := range map[string]int{
		"/u/" + did + "/did.json": 200, "/u/" + strings.TrimPrefix(did, "did:key:") + "/did.json": 200,
		"/u/did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK/did.json": 404, "/u/alice/did.json": 404,
	} {
		if status, _, said := get(t, "GET", url+path, "", ""); status != want || (status == 200) != strings.Contains(said, `"id":"`+did+`"`) {
			t.Errorf("%s: %d %s, want %d", path, status, said, want)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if said := log.String(); !strings.Contains(said, `"path":"/api/v1/values","status":200`) || strings.Contains(said, token) || strings.Contains(said, "w/private") {
		t.Errorf("the log has what is secret of a request, or nothing of it:\n%s", said)
	}
	if status, _, _ := get(t, "GET", url+"/healthz", "", ""); status != 0 {
		t.Errorf("after the end it answers %d", status)
	}
}

const ask = `{"operation":"agent:chat","input":{"agentId":"bob","message":"hi"},"wait":true}`

// A request that is under way when the server stops has its time to end.
func TestStopWaitsForRequests(t *testing.T) {
	url, token, model, _, stop := open(t, time.Minute)
	answered := make(chan int, 1)
	var asks sync.WaitGroup
	asks.Go(func() {
		status, _, _ := get(t, "POST", url+"/api/v1/invoke", token, ask)
		answered <- status
	})
	<-model.asked
	var stops sync.WaitGroup
	stops.Go(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	model.goOn <- struct{}{}
	if status := <-answered; status != 200 {
		t.Errorf("the request that was under way is answered %d", status)
	}
	asks.Wait()
	stops.Wait()
}

// One that does not end in time is cut.
func TestStopCutsRequests(t *testing.T) {
	url, token, model, _, stop := open(t, time.Millisecond)
	var asks sync.WaitGroup
	asks.Go(func() {
		if status, _, said := get(t, "POST", url+"/api/v1/invoke", token, ask); status == 200 {
			t.Errorf("a request that nobody lets end is answered: %s", said)
		}
	})
	<-model.asked
	if err := stop(); err != nil {
		t.Error(err)
	}
	asks.Wait()
}

// bearer sends a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Sessions of MCP, and the streams that they listen on, end with the server.
func TestSessionsEndWithTheServer(t *testing.T) {
	url, token, _, _, stop := open(t, 0)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: bearer{token}}, MaxRetries: -1}, &sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		defer cs.Close()
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) == 0 {
			t.Fatalf("%s: %v, %v", version, list, err)
		}
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := stop(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}
