package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A principal listens on some streams at once.
func TestListenersAreBounded(t *testing.T) {
	p := mcpServe(t, nil, nil)
	mine := token(t, p.alice, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listen := func(ctx context.Context) (*http.Response, error) {
		body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Close = true
		for name, value := range map[string]string{
			"Authorization": "Bearer " + mine, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
		} {
			req.Header.Set(name, value)
		}
		return http.DefaultTransport.RoundTrip(req)
	}
	for i := range 32 {
		resp, err := listen(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("stream %d = %d", i, resp.StatusCode)
		}
	}
	resp, err := listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if raw, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one more = %d %s, %v", resp.StatusCode, raw, err)
	}
}
