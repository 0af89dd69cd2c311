package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
)

// What a server was given to prove who calls, it may repeat where it describes its tools, and all
// who may call one read that.
func TestDescriptionsHoldNoSecret(t *testing.T) {
	const secret = `s3cr3t-"value"`
	says := "Asks postgres://app:" + secret + "@db."
	l := newLair(t, Options{
		Secret: func(context.Context, string) (string, error) { return secret, nil },
		transport: inMemory(func() *sdk.Server {
			s := sdk.NewServer(impl(), nil)
			s.AddTool(&sdk.Tool{
				Name: "query", Title: says, Description: says, Annotations: &sdk.ToolAnnotations{Title: says},
				InputSchema:  map[string]any{"type": "object", "properties": map[string]any{"sql": map[string]any{"type": "string", "description": says}}},
				OutputSchema: map[string]any{"type": "object", "description": says},
			}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{StructuredContent: map[string]any{}}, nil
			})
			return s
		}),
	})
	l.set(Server{ID: "db", Command: []string{"db"}, Env: map[string]string{"PASSWORD": "secret:NAME"}})
	l.call("mcp/db/query", `{}`)
	seen := l.call("mcp:inspect", `{"server":"db"}`)
	for _, op := range l.registry.Of(l.owner) {
		seen += op.Description() + string(op.InputSchema()) + string(op.OutputSchema())
	}
	if strings.Contains(seen, "s3cr3t") || strings.Count(seen, "[redacted]") < 5 {
		t.Errorf("its tools are described as %s", seen)
	}
}

// In the URL of a server there may be a key, which no error tells, and no list but its owner's.
func TestURLsAreTheOwners(t *testing.T) {
	at := httptest.NewServer(nil)
	at.Close() // nobody is there
	l := newLair(t, Options{})
	l.set(
		Server{ID: "web", URL: at.URL + "/s/k3y-of-mine/mcp?token=k3y-too"},
		Server{ID: "local", Command: []string{"/nowhere/at/all", "--token", "k3y-three"}},
	)
	set := caps.Of(caps.MustCapability("mcp", "mcp/read"), caps.MustCapability("mcp/web", "invoke"))
	_, err := l.may(&set, "mcp/web/echo", `{}`)
	if err == nil || strings.Contains(err.Error(), "k3y") || !strings.Contains(err.Error(), at.URL) {
		t.Errorf("a call of a server that is not there = %v", err)
	}
	list, err := l.may(&set, "mcp:list", `{}`)
	if err != nil || strings.Contains(list, "k3y") || !strings.Contains(list, `"`+at.URL+`"`) || !strings.Contains(list, "/nowhere/at/all") {
		t.Errorf("who is bounded lists %s, %v", list, err)
	}
	if mine := l.call("mcp:list", `{}`); strings.Count(mine, "k3y") != 3 {
		t.Errorf("the owner in person lists %s", mine)
	}
	if said := l.log.text(); strings.Contains(said, "k3y") {
		t.Errorf("the log has %s", said)
	}
}

// A secret that is another by now, or gone, is shown to its server no more, though the connection
// stands that was made with it.
func TestASecretThatIsGoneOpensNothing(t *testing.T) {
	var secret atomic.Value
	secret.Store("first")
	s := sdk.NewServer(impl(), nil)
	s.AddTool(&sdk.Tool{Name: "who", InputSchema: anyObject}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(len(req.Extra.Header.Get("X-Key")))}}}, nil
	})
	at := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(at.Close)
	l := newLair(t, Options{Secret: func(context.Context, string) (string, error) {
		if text := secret.Load().(string); text != "" {
			return text, nil
		}
		return "", errors.New("there is no such secret")
	}})
	l.set(Server{ID: "s", URL: at.URL, Headers: map[string]string{"X-Key": "secret:KEY"}})
	for _, text := range []string{"first", "the second"} {
		secret.Store(text)
		if out := l.call("mcp/s/who", `{}`); !strings.Contains(out, fmt.Sprintf(`"%d"`, len(text))) {
			t.Errorf("with the secret %q the server is called with another: %s", text, out)
		}
	}
	secret.Store("")
	if out, err := l.may(nil, "mcp/s/who", `{}`); err == nil || !strings.Contains(err.Error(), "open secret:KEY") {
		t.Errorf("without it: %s, %v", out, err)
	}
	secret.Store("back again")
	l.call("mcp/s/who", `{}`)
}
