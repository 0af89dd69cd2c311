package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"usher/caps"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/server"
)

// A browser that a page from elsewhere leads to the machine of the venue may do nothing there as
// nobody, at any face; whoever shows a token comes through a proxy under any name, but at /mcp.
func TestPagesFromElsewhere(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	bounds := caps.Declare(caps.Of(caps.MustCapability("", "*")))
	v := beginAs(t, l, &server.Options{CORS: []string{"https://app.test"}, Hosts: []string{"Venue.test"}},
		&venue.Options{Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: bounds}}})
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	token, err := v.Session(t.Context(), alice, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	const (
		initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		list       = `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`
	)
	faces := []struct{ method, path, body string }{
		{"POST", "/api/v1/invoke", `{"operation":"covia:write","input":{"path":"w/a","value":1},"wait":true}`},
		{"GET", "/v1/models", ""},
		{"POST", "/mcp", initialize},
		{"POST", "/a2a", list},
		{"GET", "/agui/nobody/capabilities", ""},
	}
	for _, tt := range []struct {
		name, host, origin string
		token, writes      bool // writes: what only reads is answered, to whom the browser does not show it
		refused            string
	}{
		{name: "its own machine"},
		{name: "by the machine's name", host: "localhost:1"},
		{name: "by another address of the machine", host: "[::1]:1"},
		{name: "the venue's own page", host: "localhost:1", origin: "http://localhost:1"},
		{name: "a proxy", host: "venue.test"},
		{name: "a proxy, with a port", host: "venue.test:443"},
		{name: "a page that may", origin: "https://app.test"},
		{name: "another page", origin: "https://evil.test", writes: true, refused: "a page of another origin"},
		{name: "no page in particular", origin: "null", writes: true, refused: "a page of another origin"},
		{name: "a page whose name leads here", host: "evil.test:1", origin: "http://evil.test:1", refused: "list it under server.hosts"},
		{name: "a page that may, by a name that leads here", host: "evil.test", origin: "https://app.test", refused: "list it under server.hosts"},
		{name: "a name that begins as one of ours", host: "localhost.evil.test", refused: "list it under server.hosts"},
		{name: "a token, by any name", host: "elsewhere.test", token: true, refused: "list it under server.hosts"},
	} {
		for _, f := range faces {
			req, err := http.NewRequestWithContext(t.Context(), f.method, "http://"+l.Addr().String()+f.path, strings.NewReader(f.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Close, req.Host = true, tt.host
			for name, text := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "A2a-Version": "1.0", "Origin": tt.origin} {
				if text != "" {
					req.Header.Set(name, text)
				}
			}
			if tt.token {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			refused := tt.refused != "" && !(tt.writes && f.method == "GET") && !(tt.token && f.path != "/mcp")
			if is := resp.StatusCode == http.StatusForbidden || strings.Contains(string(said), "server."); is != refused || refused && !strings.Contains(string(said), tt.refused) {
				t.Errorf("%s at %s: %s %.300s", tt.name, f.path, resp.Status, said)
			}
		}
	}
}
