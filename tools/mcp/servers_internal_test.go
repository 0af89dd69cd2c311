package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
)

// lair is a venue in small: one user, one gate, and their servers.
type lair struct {
	testing.TB
	owner    ucan.DID
	registry *tools.Registry
	gate     *tools.Gate
	mint     *tools.Mint
	servers  *Servers
	keeper   memory
	log      *lockedLog
}

// memory keeps records in memory.
type memory struct{ records *sync.Map }

func (m memory) Load(_ context.Context, id string) (r Record, err error) {
	if raw, ok := m.records.Load(id); ok {
		err = json.Unmarshal(raw.([]byte), &r)
	}
	return r, err
}

func (m memory) Save(_ context.Context, id string, r Record) error {
	raw, err := json.Marshal(r)
	m.records.Store(id, raw)
	return err
}

type lockedLog struct {
	mu sync.Mutex
	strings.Builder
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(b)
}

func (l *lockedLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

func newLair(t testing.TB, o Options) *lair {
	t.Helper()
	key, err := ucan.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l := &lair{TB: t, owner: key.DID(), registry: new(tools.Registry), keeper: memory{new(sync.Map)}, log: new(lockedLog)}
	o.Owner, o.Keeper, o.Logger = l.owner, l.keeper, slog.New(slog.NewTextHandler(l.log, nil))
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Import = func(ops []*tools.Operation) ([]*tools.Operation, error) {
		return l.registry.Import(l.owner, l.servers, ops...)
	}
	l.servers = New(o)
	t.Cleanup(l.servers.Close)
	if err := l.registry.Declare(Operations(l.servers)...); err != nil {
		t.Fatal(err)
	}
	l.gate, l.mint = tools.NewGate(l.registry, nil)
	return l
}

func (l *lair) set(list ...Server) {
	l.Helper()
	if err := l.servers.Set(l.Context(), list); err != nil {
		l.Fatal(err)
	}
}

// may calls an operation within capabilities; nil is all of them.
func (l *lair) may(set *caps.Set, operation, input string) (string, error) {
	auth := l.mint.User(l.owner)
	if set != nil {
		auth = auth.Narrow(*set)
	}
	ctx, cancel := context.WithTimeout(l.Context(), 30*time.Second)
	defer cancel()
	res, err := l.gate.Invoke(ctx, auth, tools.Invocation{Operation: operation, Input: json.RawMessage(input)})
	return string(res.Output), err
}

func (l *lair) call(operation, input string) string {
	l.Helper()
	out, err := l.may(nil, operation, input)
	if err != nil {
		l.Fatalf("%s %s: %v", operation, input, err)
	}
	return out
}

// fails is the code and the text of a call that must fail.
func (l *lair) fails(operation, input string, code fault.Code, parts ...string) {
	l.Helper()
	out, err := l.may(nil, operation, input)
	if err == nil {
		l.Fatalf("%s %s = %s, want an error", operation, input, out)
	}
	if got := fault.Of(err); got != code {
		l.Errorf("%s %s is %q (%v), want %q", operation, input, got, err, code)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			l.Errorf("%s %s: %q lacks %q", operation, input, err, part)
		}
	}
}

// inMemory has the servers be those of the SDK, in memory: one for each connection.
func inMemory(serve func() *sdk.Server) func(Server) sdk.Transport {
	return func(Server) sdk.Transport {
		here, there := sdk.NewInMemoryTransports()
		if _, err := serve().Connect(context.Background(), there, nil); err != nil {
			panic(err)
		}
		return here
	}
}

func impl() *sdk.Implementation { return &sdk.Implementation{Name: "liar", Version: "1"} }

var anyObject = json.RawMessage(`{"type":"object"}`)

// add adds a tool that answers with its arguments.
func add(s *sdk.Server, name, description string) {
	s.AddTool(&sdk.Tool{Name: name, Description: description, InputSchema: anyObject, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " " + string(req.Params.Arguments)}}}, nil
		})
}

func TestMain(m *testing.M) {
	if kind := os.Getenv("USHER_TEST_SERVER"); kind != "" {
		child(kind)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is a server in a process of its own.
func child(kind string) {
	if strings.HasPrefix(kind, "raw-") {
		raw(kind)
		return
	}
	s := sdk.NewServer(impl(), nil)
	add(s, "echo", "Says it again.")
	s.AddTool(&sdk.Tool{Name: "env", InputSchema: anyObject}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "my key is", os.Getenv("KEY"))
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil
	})
	s.AddTool(&sdk.Tool{Name: "die", InputSchema: anyObject}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	s.AddTool(&sdk.Tool{Name: "hang", InputSchema: anyObject}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.AddTool(&sdk.Tool{Name: "flood", InputSchema: anyObject}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		line := []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n")
		for range 1_000_000 {
			if _, err := os.Stdout.Write(line); err != nil {
				os.Exit(1)
			}
		}
		return &sdk.CallToolResult{}, nil
	})
	s.AddTool(&sdk.Tool{Name: "many", InputSchema: anyObject}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: json.RawMessage(manyValues)}, nil
	})
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// raw is a server that speaks no SDK.
func raw(kind string) {
	if kind != "raw-silent" { // which does not end by itself
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	switch kind {
	case "raw-silent":
		select {}
	case "raw-noise":
		for {
			fmt.Println("this is no JSON")
		}
	case "raw-endless":
		fmt.Print(`{"jsonrpc":"2.0","id":1,"result":{"x":"`)
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				os.Exit(1)
			}
		}
	}
}

// self is the test binary as a server.
func self(t *testing.T, kind string) Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{ID: "self", Command: []string{exe}, Env: map[string]string{"USHER_TEST_SERVER": kind}}
}

func TestProcess(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-venue")
	l := newLair(t, Options{Secret: func(_ context.Context, name string) (string, error) {
		if name != "NAME" {
			return "", errors.New("no such secret")
		}
		return "s3cr3t-value", nil
	}})
	s := self(t, "good")
	s.Env["KEY"] = "secret:NAME"
	l.set(s)
	out := l.call("mcp/self/echo", `{"a":1}`)
	for _, want := range []string{`{\"a\":1}`, "its words", "MCP server self"} {
		if !strings.Contains(out, want) {
			t.Errorf("echo = %s, want %q in it", out, want)
		}
	}
	out = l.call("mcp/self/env", `{}`)
	if strings.Contains(out, "sk-of-the-venue") || strings.Contains(out, "s3cr3t-value") || !strings.Contains(out, "KEY=[redacted]") || !strings.Contains(out, "PATH=") {
		t.Errorf("env = %s, want PATH, no variable of the venue, and no secret", out)
	}
	l.fails("mcp/self/die", `{}`, fault.Unknown, "Whether mcp/self/die took effect is unknown")
	l.servers.byID["self"].link.mu.Lock()
	l.servers.byID["self"].link.again = time.Time{} // the wait is over
	l.servers.byID["self"].link.mu.Unlock()
	if out := l.call("mcp/self/echo", `{"b":2}`); !strings.Contains(out, "b") {
		t.Errorf("after it died, echo = %s", out)
	}
	l.servers.Close()
	if text := l.log.text(); !strings.Contains(text, "my key is [redacted]") || strings.Contains(text, "s3cr3t") {
		t.Errorf("the log is %s, want the server's words, and no secret", text)
	}
}

// Each server that does not speak as it should fails its own calls, and nobody waits for
// another attempt at once.
func TestSpeechless(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"raw-noise", "raw-endless"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newLair(t, Options{})
			l.set(self(t, kind))
			l.fails("mcp/self/echo", `{}`, fault.Failed, "cannot be reached")
			l.fails("mcp/self/echo", `{}`, fault.Failed, "tried again in")
		})
	}
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		l := newLair(t, Options{})
		l.set(self(t, "raw-silent"))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := l.gate.Invoke(ctx, l.mint.User(l.owner), tools.Invocation{Operation: "mcp/self/echo"})
		if fault.Of(err) != fault.Timeout {
			t.Errorf("a silent server: %v, want a timeout", err)
		}
	})
	t.Run("no such program", func(t *testing.T) {
		l := newLair(t, Options{})
		l.set(Server{ID: "none", Command: []string{"/nowhere/at/all"}})
		l.fails("mcp/none/echo", `{}`, fault.Failed, "cannot be reached")
	})
}

// A call that takes too long ends alone, and a flood drowns nobody but who asked for it.
func TestHangAndFlood(t *testing.T) {
	t.Parallel()
	l := newLair(t, Options{})
	late := func(tool string) { // no call is under way when the time of a call changes
		l.servers.opts.CallTime = 200 * time.Millisecond
		l.fails(tool, `{}`, fault.Unknown, "did not answer in time")
		l.servers.opts.CallTime = time.Minute
	}
	other := self(t, "good")
	other.ID = "other"
	l.set(self(t, "good"), other)
	l.call("mcp/self/echo", `{}`)
	l.call("mcp/other/echo", `{}`)
	late("mcp/self/hang")
	l.call("mcp/self/echo", `{}`)
	late("mcp/self/flood")
	l.call("mcp/other/echo", `{}`)
}

func TestHTTP(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s := sdk.NewServer(impl(), nil)
	add(s, "echo", "Says it again.")
	for _, stateless := range []bool{false, true} {
		t.Run(fmt.Sprintf("stateless %t", stateless), func(t *testing.T) {
			h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: stateless})
			at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				seen = append(seen, r.Header.Get("Authorization"))
				mu.Unlock()
				h.ServeHTTP(w, r)
			}))
			defer at.Close()
			l := newLair(t, Options{Secret: func(context.Context, string) (string, error) { return "s3cr3t-value", nil }})
			l.set(Server{ID: "web", URL: at.URL, Headers: map[string]string{"Authorization": "Bearer secret:TOKEN"}})
			if out := l.call("mcp/web/echo", `{"a":"s3cr3t-value"}`); !strings.Contains(out, "[redacted]") {
				t.Errorf("echo = %s", out)
			}
			l.servers.Close()
			mu.Lock()
			defer mu.Unlock()
			for _, header := range seen {
				if header != "Bearer s3cr3t-value" {
					t.Errorf("Authorization was %q", header)
				}
			}
		})
	}
	t.Run("redirect", func(t *testing.T) {
		var leaked bool
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked = true }))
		defer elsewhere.Close()
		at := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
		defer at.Close()
		l := newLair(t, Options{})
		l.set(Server{ID: "web", URL: at.URL, Headers: map[string]string{"X-Key": "k"}})
		l.fails("mcp/web/echo", `{}`, fault.Failed, "redirects")
		if leaked {
			t.Error("the redirect was followed")
		}
	})
}

// A process ends with the venue, and so do those that it started.
func TestChildrenEnd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Log("there is no shell")
		return
	}
	l := newLair(t, Options{})
	s := self(t, "good")
	s.Command = []string{"sh", "-c", `sleep 1000 & echo $! >&2; exec "$0"`, s.Command[0]}
	l.set(s)
	l.call("mcp/self/echo", `{}`)
	l.servers.Close()
	if text := l.log.text(); !strings.Contains(text, "has ended") {
		t.Errorf("the log is %s, want the end of the process", text)
	}
}
