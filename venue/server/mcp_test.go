package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/runtime"
	"usher/tools/tokens"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/face"
	"usher/venue/mcp"
	"usher/venue/venuetest"
)

// mcpPort is a venue on a port of its own. Who comes without a token may read below w/open of
// the namespace of those.
type mcpPort struct {
	venue *venue.Venue
	alice *venue.User
	model *venuetest.Model
	face  *mcp.Face
	url   string
}

func mcpServe(t *testing.T, o *venue.Options, opts *mcp.Options) *mcpPort {
	t.Helper()
	p := &mcpPort{model: new(venuetest.Model)}
	if o == nil {
		o = new(venue.Options)
	}
	o.Models = map[string]runtime.Model{"default": p.model}
	o.Auth = config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(caps.Of(caps.MustCapability("w/open", "crud/read")))}}
	var err error
	if p.venue, err = venue.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if p.alice, err = p.venue.User(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	if p.face, err = mcp.New(&face.Door{Venue: p.venue}, opts); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(mcp.Path, p.face)
	mux.HandleFunc(mcp.MetadataPath+mcp.Path, p.face.Metadata)
	srv := httptest.NewServer(mux)
	p.url = srv.URL + mcp.Path
	t.Cleanup(func() {
		p.face.Close()
		srv.Client().CloseIdleConnections()
		http.DefaultClient.CloseIdleConnections()
		srv.Close()
		if err := p.venue.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// token makes a token of the venue for a principal.
func token(t *testing.T, p *venue.Principal, name string) string {
	t.Helper()
	raw, err := p.Invoke(t.Context(), "token:create", tokens.New{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	var made tokens.CreateResult
	if err := json.Unmarshal(raw, &made); err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

// bearer sends a token with each request.
// connect is the SDK's own client. version is the generation that it speaks.
func (p *mcpPort) connect(t *testing.T, token, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return connect(t, &sdk.StreamableClientTransport{Endpoint: p.url, HTTPClient: &http.Client{Transport: bearer{token}}}, version, o)
}

func connect(t *testing.T, over sdk.Transport, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), over, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cs.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	if got := cs.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the client speaks %s, want %s", got, version)
	}
	return cs
}

// mcpPipes connects a client over pipes, as the principal.
func mcpPipes(t *testing.T, p *venue.Principal, version string) *sdk.ClientSession {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mcp.Stdio(ctx, p, "usher", inRead, outWrite, nil) }()
	t.Cleanup(func() {
		cancel()
		_ = inWrite.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return connect(t, &sdk.IOTransport{Reader: outRead, Writer: inWrite}, version, nil)
}

func names(t *testing.T, cs *sdk.ClientSession) (list []string) {
	t.Helper()
	res, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.CacheScope != "private" {
		t.Errorf("the list of tools may be cached as %q", res.CacheScope)
	}
	for _, tool := range res.Tools {
		list = append(list, tool.Name)
	}
	return list
}

// call calls a tool, and returns its text and whether it failed.
func call(t *testing.T, cs *sdk.ClientSession, name, arguments string) (said string, failed bool, structure string) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error(), true, ""
	}
	for _, block := range res.Content {
		if b, ok := block.(*sdk.TextContent); ok {
			said += b.Text
		}
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return said, res.IsError, string(raw)
}

var versions = []string{"2026-07-28", "2025-11-25"}

// Two callers see two lists, and get two verdicts on the same call: over HTTP and over
// pipes, in both generations of the protocol.
func TestTwoCallers(t *testing.T) {
	p := mcpServe(t, nil, nil)
	bounded, err := p.venue.Anonymous(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	create(t, p.alice, `{"agentId":"bob","config":{"description":"He knows books.","caps":[]}}`)
	mine := token(t, p.alice, "a")
	for _, version := range versions {
		over := map[string][2]*sdk.ClientSession{
			"HTTP":  {p.connect(t, mine, version, nil), p.connect(t, "", version, nil)},
			"pipes": {mcpPipes(t, p.alice, version), mcpPipes(t, bounded, version)},
		}
		for way, cs := range over {
			t.Run(way+" "+version, func(t *testing.T) {
				all, few := names(t, cs[0]), names(t, cs[1])
				for _, want := range []string{"covia_write", "covia_read", "agent_create", "ask_bob"} {
					if !slices.Contains(all, want) {
						t.Errorf("the owner is not offered %s: %v", want, all)
					}
				}
				if slices.Contains(few, "covia_write") || slices.Contains(few, "ask_bob") || !slices.Contains(few, "covia_read") {
					t.Errorf("who may read is offered %v", few)
				}
				if said, failed, _ := call(t, cs[0], "covia_write", `{"path":"w/open/a","value":"x"}`); failed {
					t.Errorf("the owner's write fails: %s", said)
				}
				for _, tt := range []struct{ tool, input, want string }{
					{"covia_write", `{"path":"w/open/a","value":"x"}`, "Capability denied: v/ops/covia/write requires crud/write on w/open/a."},
					{"covia_read", `{"path":"w/closed/a"}`, "Capability denied: v/ops/covia/read requires crud/read on w/closed/a."},
					{"ask_bob", `{"message":"hi"}`, "Capability denied: v/ops/agent/chat requires agent/message on g/bob."},
					{"ask_nobody", `{"message":"hi"}`, "Capability denied: v/ops/agent/chat requires agent/message on g/nobody."},
				} {
					said, failed, structure := call(t, cs[1], tt.tool, tt.input)
					if !failed || !strings.HasPrefix(said, tt.want) || !strings.Contains(structure, `"error":"capability_denied"`) {
						t.Errorf("%s %s = %q %s, failed %t", tt.tool, tt.input, said, structure, failed)
					}
				}
				if said, failed, _ := call(t, cs[1], "nothing_here", `{}`); !failed || !strings.Contains(said, "no tool of that name") {
					t.Errorf("a tool that is none = %q", said)
				}
			})
		}
	}
}

func create(t *testing.T, of *venue.Principal, spec string) {
	t.Helper()
	if _, err := of.Invoke(t.Context(), "agent:create", json.RawMessage(spec)); err != nil {
		t.Fatal(err)
	}
}
