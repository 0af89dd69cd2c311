package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lasting is a server that says of all that it tells that it counts for a year.
func lasting(s *sdk.Server) *sdk.Server {
	const year = 365 * 24 * 3600 * 1000
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, req)
			switch res := res.(type) {
			case *sdk.ReadResourceResult:
				res.TTLMs = year
			case *sdk.ListToolsResult:
				res.TTLMs = year
			}
			return res, err
		}
	})
	return s
}

// A server is asked each time: it does not say itself how long what it said is taken for what
// it says.
func TestNothingThatAServerSaidCountsForLater(t *testing.T) {
	var reads, lists atomic.Int64
	l := newLair(t, Options{transport: inMemory(func() *sdk.Server {
		s := sdk.NewServer(impl(), nil)
		add(s, "echo", "Says it again.")
		s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "doc", URITemplate: "docs://{name}"}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: fmt.Sprint("edition ", reads.Add(1))}}}, nil
		})
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		return lasting(s)
	})})
	l.set(Server{ID: "s", Command: []string{"x"}, Resources: []Material{{Match: "docs://{name}", Can: "crud/read", With: "docs/{name}"}}})
	for n := 1; n <= 3; n++ {
		if out := l.call("mcp/s/resources/read", `{"uri":"docs://a"}`); !strings.Contains(out, fmt.Sprint("edition ", n)) {
			t.Errorf("read %d: %s", n, out)
		}
	}
	before := lists.Load()
	for range 3 {
		l.call("mcp:accept", `{"server":"s"}`)
	}
	if got := lists.Load() - before; got < 3 {
		t.Errorf("the tools are listed %d times to be accepted, want 3", got)
	}
}

// What was read is held by nobody.
func TestWhatWasReadIsNotHeld(t *testing.T) {
	l := newLair(t, Options{transport: inMemory(func() *sdk.Server {
		s := sdk.NewServer(impl(), nil)
		s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "doc", URITemplate: "docs://{name}"}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: strings.Repeat("x", 512<<10)}}}, nil
		})
		return s
	})})
	l.set(Server{ID: "s", Command: []string{"x"}, Resources: []Material{{Match: "docs://{name}", Can: "crud/read", With: "docs/{name}"}}})
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	read := func(name string) {
		raw, err := json.Marshal(map[string]string{"uri": "docs://" + name})
		if err != nil {
			t.Fatal(err)
		}
		l.call("mcp/s/resources/read", string(raw))
	}
	read("first")
	before := held()
	for n := range 50 {
		read(fmt.Sprint(n))
	}
	if after := held(); after > before+10<<20 {
		t.Errorf("50 resources of half a MiB were read, and %d MiB more are held", (after-before)>>20)
	}
}
