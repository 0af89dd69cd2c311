package venue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/runtime"
	"usher/tools/agents"
	"usher/venue"
	"usher/venue/venuetest"
)

// fileServer is an MCP server that reads every file that it is asked for.
func fileServer(t testing.TB, tools int) (url string) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	type batch struct {
		Paths []string `json:"paths"`
	}
	for i := range tools {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("read_%d", i), Description: "Reads files."}, func(_ context.Context, _ *mcp.CallToolRequest, in batch) (*mcp.CallToolResult, any, error) {
			var out mcp.CallToolResult
			for _, path := range in.Paths {
				raw, err := os.ReadFile(path)
				if err != nil {
					return nil, nil, err
				}
				out.Content = append(out.Content, &mcp.TextContent{Text: string(raw)})
			}
			return &out, nil, nil
		})
	}
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(at.Close)
	return at.URL
}

// An agent reads what its capabilities cover through an MCP server, and nothing else by
// any spelling, batch or link; and the configuration takes effect while the venue is open.
func TestServers(t *testing.T) {
	url, top := fileServer(t, 1), t.TempDir()
	for _, dir := range []string{"docs/public", "docs/secret"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"docs/public/a": "open words", "docs/secret/b": "hidden words", "outside": "hidden words"} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"docs/public/link": "../secret/b", "docs/public/out": "../../outside", "docs/public/in": "a"} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	const clerks = "agents: [{id: clerk, tools: ['mcp/files/*'], caps: [{with: 'file://docs/public', can: crud/read}, {with: w/, can: crud}]}]\n"
	with := clerks + fmt.Sprintf(`mcp:
  - id: files
    url: %s
    root: %s
    tools: [{match: "read_*", can: crud/read, with: "file://docs/{paths}"}]
`, url, filepath.Join(top, "docs"))
	m := new(venuetest.Model)
	v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": m}, Config: parse(t, "user: alice\n"+clerks)})
	alice := user(t, v, "alice")
	clerk := agentOf(t, alice, "clerk")
	m.Ask("mcp_files_read_0", `{"paths":["public/a"]}`)
	chat(t, clerk, "read")
	if got := m.Results(); len(got) != 1 || !strings.Contains(got[0], "there is no tool") {
		t.Errorf("without a server: %q", got)
	}
	if err := v.Configure(t.Context(), parse(t, "user: alice\n"+with)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ paths, want string }{
		{`"public/a"`, "open words"},
		{`"` + filepath.Join(top, "docs/public/a") + `"`, "open words"},
		{`"public/in","public/./a"`, "open words"},
		{`"public/a","secret/b"`, "requires crud/read on file://docs/secret/b"},
		{`"public/../secret/b"`, "requires crud/read on file://docs/secret/b"},
		{`"public/link"`, "requires crud/read on file://docs/secret/b"},
		{`"public/out"`, "lead out of the folder"},
		{`"secret/nothing"`, "requires crud/read on file://docs/secret/nothing"},
		{`"../outside"`, "not below the folder"},
		{`"/etc/passwd"`, "not below the folder"},
	} {
		m.Forget()
		m.Ask("mcp_files_read_0", `{"paths":[`+c.paths+`]}`)
		chat(t, clerk, "read")
		if got := strings.Join(m.Results(), ""); !strings.Contains(got, c.want) || strings.Contains(got, "hidden words") {
			t.Errorf("reading %s: %s, want %q", c.paths, got, c.want)
		}
	}
	if ops, err := user(t, v, "bob").Operations(t.Context()); err != nil {
		t.Error(err)
	} else {
		for _, op := range ops {
			if strings.HasPrefix(op.Path(), "mcp/") {
				t.Errorf("bob has alice's %s", op.Path())
			}
		}
	}
	if err := v.Configure(t.Context(), parse(t, "user: alice\n"+clerks)); err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Operation(t.Context(), "mcp/files/read_0"); err == nil {
		t.Error("it stays where it has left the configuration")
	}
}

// An agent with an identity of its own finds the servers of who made it, and calls what that
// one has delegated to it; agents of others find nothing.
func TestServersOfAnIndependentAgent(t *testing.T) {
	conf := "user: alice\nmcp: [{id: files, url: " + fileServer(t, 2) + "}]\n"
	m := new(venuetest.Model)
	v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": m}, Config: parse(t, conf)})
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	s := spec("eve", "", `null`)
	s.Identity, s.Tools = agents.IdentityOwn, []string{"mcp/files/*"}
	eve, other := create(t, alice, s), create(t, bob, s)
	info, err := eve.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("open words"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(a *venue.Agent, tool string) string {
		m.Forget()
		m.Ask(tool, `{"paths":["`+path+`"]}`)
		chat(t, a, "read")
		return strings.Join(m.Results(), "")
	}
	if got, want := read(eve, "mcp_files_read_0"), "requires invoke on "+alice.DID().String()+"/mcp/files/read_0"; !strings.Contains(got, want) {
		t.Errorf("without a delegation: %s, want %q", got, want)
	}
	delegate(t, alice, info.DID, "invoke", "mcp/files/read_0")
	if got := read(eve, "mcp_files_read_0"); !strings.Contains(got, "open words") {
		t.Errorf("what was delegated: %s", got)
	}
	if got := read(eve, "mcp_files_read_1"); !strings.Contains(got, "Capability denied") {
		t.Errorf("what was not delegated: %s", got)
	}
	if got := read(other, "mcp_files_read_0"); !strings.Contains(got, "there is no tool") {
		t.Errorf("an agent of another's: %s", got)
	}
}

// Nobody who changes an agent waits for a server that another change of it asks for tools.
func TestAServerThatDoesNotAnswerHoldsUpNoChange(t *testing.T) {
	asked, end := make(chan struct{}, 64), make(chan struct{})
	at := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(at.Close)
	v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": new(venuetest.Model)}, Config: parse(t, "user: alice\nmcp: [{id: slow, url: "+at.URL+"}]\n")})
	alice := user(t, v, "alice")
	create(t, alice, spec("kid", "", `null`))
	ctx, cancel := context.WithCancel(t.Context())
	var updating sync.WaitGroup
	updating.Go(func() {
		_, _ = alice.Invoke(ctx, "agent:update", json.RawMessage(`{"agentId":"kid","config":{"tools":["mcp/slow/a:b"]}}`))
	})
	<-asked
	within, done := context.WithTimeout(t.Context(), 10*time.Second)
	defer done()
	if _, err := alice.Invoke(within, "agent:suspend", json.RawMessage(`{"agentId":"kid"}`)); err != nil {
		t.Errorf("suspend, while an update looks for tools: %v", err)
	}
	cancel()
	close(end)
	updating.Wait()
}
