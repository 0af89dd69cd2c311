package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"usher/tools"
	"usher/venue/mcp"
)

// send makes a request as it is. head is pairs of names and values.
func (p *mcpPort) send(t *testing.T, method, body string, head ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Close = true
	for i := 0; i < len(head); i += 2 {
		if head[i] == "Host" {
			req.Host = head[i+1]
			continue
		}
		req.Header.Set(head[i], head[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(raw)
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	ping       = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	listTools  = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
)

func TestDoor(t *testing.T) {
	p := mcpServe(t, nil, nil)
	for _, tt := range []struct {
		name, method, body string
		head               []string
		status             int
		want               string
	}{
		{"a bearer that proves nothing", "POST", initialize, []string{"Authorization", "Bearer x"}, 401, "unauthenticated"},
		{"a page of another origin", "POST", initialize, []string{"Origin", "https://evil.example"}, 403, "another origin"},
		{"a name that was bound to this machine", "POST", initialize, []string{"Host", "evil.example"}, 403, "server.hosts"},
		{"a session that is none", "POST", ping, []string{"Mcp-Session-Id", "x"}, 404, "session"},
		{"a body that is too large", "POST", strings.Repeat(" ", tools.MaxInput+64<<10+1), nil, 413, "too large"},
		{"a beginning that is too large", "POST", strings.Replace(initialize, `"name":"t"`, `"name":"`+strings.Repeat("t", 64<<10)+`"`, 1), nil, 413, "65536 bytes"},
		{"a batch that is too large", "POST", "[" + strings.Repeat(ping+",", 32) + ping + "]", nil, 413, "32 messages"},
		{"a method that is none", "PUT", ping, nil, 405, ""},
		{"a message before initialize", "POST", listTools, nil, 200, "session initialization"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, _, said := p.send(t, tt.method, tt.body, tt.head...)
			if status != tt.status || !strings.Contains(said, tt.want) {
				t.Errorf("%s = %d %s, want %d with %q", tt.method, status, said, tt.status, tt.want)
			}
		})
	}
}

// Who is not known is told where tokens come from (RFC 9728).
func TestChallenge(t *testing.T) {
	p := mcpServe(t, nil, nil)
	_, head, _ := p.send(t, "POST", initialize, "Authorization", "Bearer x")
	at := strings.TrimSuffix(p.url, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
	if got, want := head.Get("WWW-Authenticate"), `resource_metadata="`+at+`"`; !strings.HasPrefix(got, "Bearer ") || !strings.Contains(got, want) {
		t.Errorf("WWW-Authenticate: %s, want it to have %s", got, want)
	}
	resp, err := http.Get(at) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(raw), `"resource":"`+p.url+`"`) {
		t.Errorf("the metadata is %s, %v", raw, err)
	}
}

// A session is its principal's: nobody else takes it up, whoever may call otherwise.
func TestSessionIsBound(t *testing.T) {
	p := mcpServe(t, nil, nil)
	stranger, err := p.venue.User(t.Context(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := token(t, p.alice, "a"), token(t, stranger, "b")
	status, head, said := p.send(t, "POST", initialize, "Authorization", "Bearer "+mine)
	id := head.Get("Mcp-Session-Id")
	if status != 200 || id == "" {
		t.Fatalf("initialize = %d %s", status, said)
	}
	for _, tt := range []struct {
		name, method string
		token        []string
		status       int
	}{
		{"another", "POST", []string{"Authorization", "Bearer " + theirs}, 403},
		{"nobody", "POST", nil, 403},
		{"another listens", "GET", []string{"Authorization", "Bearer " + theirs}, 403},
		{"another ends it", "DELETE", []string{"Authorization", "Bearer " + theirs}, 403},
		{"its own", "POST", []string{"Authorization", "Bearer " + mine}, 200},
	} {
		if status, _, said := p.send(t, tt.method, listTools, append(tt.token, "Mcp-Session-Id", id)...); status != tt.status {
			t.Errorf("%s: %s = %d %s, want %d", tt.name, tt.method, status, said, tt.status)
		}
	}
	if _, err := p.alice.Invoke(t.Context(), "token:revoke", map[string]string{"name": "a"}); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := p.send(t, "POST", listTools, "Authorization", "Bearer "+mine, "Mcp-Session-Id", id); status != 401 {
		t.Errorf("a session goes on without its token: %d", status)
	}
}

// A principal has some sessions at once. One that ends makes room.
func TestSessionsAreBounded(t *testing.T) {
	p := mcpServe(t, nil, nil)
	head := []string{"Authorization", "Bearer " + token(t, p.alice, "a")}
	var last string
	for i := range 64 {
		status, h, said := p.send(t, "POST", initialize, head...)
		if last = h.Get("Mcp-Session-Id"); status != 200 {
			t.Fatalf("session %d = %d %s", i, status, said)
		}
	}
	if status, _, said := p.send(t, "POST", initialize, head...); status != 429 || !strings.Contains(said, "64 of them yours") {
		t.Errorf("one more = %d %s", status, said)
	}
	if status, _, _ := p.send(t, "POST", initialize); status != 200 {
		t.Errorf("another principal's = %d", status)
	}
	if status, _, said := p.send(t, "DELETE", "", append(head, "Mcp-Session-Id", last)...); status != 204 {
		t.Fatalf("its end = %d %s", status, said)
	}
	// The place is free once the session's end was noticed.
	for try := 0; ; try++ {
		status, _, said := p.send(t, "POST", initialize, head...)
		if status == 200 {
			break
		}
		if try == 1000 {
			t.Fatal(fmt.Sprint("no place was made: ", status, said))
		}
	}
}

// Behind a proxy that speaks TLS the face is told of by https: a client that fetched its metadata,
// and with them who gives out tokens, in the clear could be told anything.
func TestMetadataBehindAProxy(t *testing.T) {
	p := mcpServe(t, nil, nil)
	for proto, want := range map[string]string{"": "http://", "https": "https://"} {
		for _, path := range []string{mcp.Path, mcp.MetadataPath + mcp.Path} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(p.url, mcp.Path)+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer none")
			if proto != "" {
				req.Header.Set("X-Forwarded-Proto", proto)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			said := string(raw) + resp.Header.Get("WWW-Authenticate")
			if err != nil || !strings.Contains(said, `"`+want+req.Host) {
				t.Errorf("%s by %q tells %s, %v", path, proto, said, err)
			}
		}
	}
}
