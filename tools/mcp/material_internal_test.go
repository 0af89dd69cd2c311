package mcp

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/tools/fault"
)

// withMaterial is a server with resources and prompts, which answers any URI.
func withMaterial() *sdk.Server {
	s := sdk.NewServer(impl(), nil)
	add(s, "resources", "")
	for _, template := range []string{"docs://{+path}", "file:///{+path}"} {
		s.AddResourceTemplate(&sdk.ResourceTemplate{Name: template, URITemplate: template}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: "it is " + req.Params.URI}}}, nil
		})
	}
	for _, name := range []string{"review", "other"} {
		s.AddPrompt(&sdk.Prompt{Name: name, Arguments: []*sdk.PromptArgument{{Name: "repo"}}}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "review " + req.Params.Arguments["repo"]}}}}, nil
		})
	}
	return s
}

// Resources and prompts of a server are read as its configuration says, and no others; and no
// spelling of a URI is read as another.
func TestMaterial(t *testing.T) {
	l := newLair(t, Options{transport: inMemory(withMaterial)})
	l.set(Server{
		ID: "s", Command: []string{"x"},
		Resources: []Material{{Match: "docs://{team}/{path...}", Can: "crud/read", With: "docs/{team}/{path...}"}, {Match: "docs://index", Can: "crud/read", With: "docs"}},
		Prompts:   []Material{{Match: "review", Can: "crud/read", With: "repo/{repo}"}},
	})
	set := caps.Of(caps.MustCapability("docs/red", "crud/read"), caps.MustCapability("repo/site", "crud/read"), caps.MustCapability("mcp/s/resources", "invoke"))
	const read, get = "mcp/s/resources/read", "mcp/s/prompts/get"
	for _, tt := range []struct {
		operation, input string
		code             fault.Code // empty is none
		want             string
	}{
		{read, `{"uri":"docs://red/plans/a"}`, "", "it is docs://red/plans/a"},
		{read, `{"uri":"docs://blue/plans/a"}`, fault.Denied, "crud/read on docs/blue/plans/a"},
		{read, `{"uri":"docs://index"}`, fault.Denied, "crud/read on docs"},
		{read, `{"uri":"docs://red/../blue/a"}`, fault.InvalidInput, ""},
		{read, `{"uri":"docs://red//../blue/a"}`, fault.InvalidInput, ""},
		{read, `{"uri":"docs://red/%2e%2e/blue/a"}`, fault.InvalidInput, "no line under resources"},
		{read, `{"uri":"docs://red/a?as=blue/a"}`, fault.InvalidInput, "no line under resources"},
		{read, `{"uri":"docs://red/a#b"}`, fault.InvalidInput, "no line under resources"},
		{read, `{"uri":"DOCS://red/a"}`, fault.InvalidInput, "no line under resources"},
		{read, `{"uri":"file:///etc/passwd"}`, fault.InvalidInput, "no line under resources"},
		{read, `{"uri":"docs://red/a","URI":"docs://blue/a"}`, fault.InvalidInput, ""},
		{read, `{}`, fault.InvalidInput, "uri is missing"},
		{get, `{"name":"review","arguments":{"repo":"site"}}`, "", "review site"},
		{get, `{"name":"review","arguments":{"repo":"shop"}}`, fault.Denied, "crud/read on repo/shop"},
		{get, `{"name":"review","arguments":{"repo":"site/../shop"}}`, fault.InvalidInput, ""},
		{get, `{"name":"review"}`, fault.InvalidInput, "repo is missing"},
		{get, `{"name":"other","arguments":{"repo":"site"}}`, fault.InvalidInput, "no line under prompts"},
	} {
		out, err := l.may(&set, tt.operation, tt.input)
		if got := fault.Of(err); tt.code == "" && err != nil || tt.code != "" && got != tt.code {
			t.Errorf("%s %s = %s, %v, want %s", tt.operation, tt.input, out, err, tt.code)
			continue
		}
		if err != nil {
			out = err.Error()
		}
		if !strings.Contains(out, tt.want) || tt.code == "" && !strings.Contains(out, words("s")) {
			t.Errorf("%s %s = %s, want %q", tt.operation, tt.input, out, tt.want)
		}
	}
}

// Without lines there is nothing to read, whoever asks; and lines that say nothing sure are
// refused.
func TestMaterialThatIsNotDeclared(t *testing.T) {
	l := newLair(t, Options{transport: inMemory(withMaterial)})
	l.set(Server{ID: "s", Command: []string{"x"}})
	l.fails("mcp/s/resources/read", `{"uri":"docs://index"}`, fault.NotFound)
	l.fails("mcp/s/prompts/get", `{"name":"review"}`, fault.NotFound)
	for name, s := range map[string]Server{
		"a field of nothing":    {Resources: []Material{{Match: "docs://{a}", Can: "crud/read", With: "docs/{b}"}}},
		"two fields in one":     {Resources: []Material{{Match: "docs://{a}{b}", Can: "crud/read", With: "docs/{a}/{b}"}}},
		"segments in between":   {Resources: []Material{{Match: "docs://{a...}/x", Can: "crud/read", With: "docs/{a}"}}},
		"no ability":            {Resources: []Material{{Match: "docs://a", Can: "Read", With: "docs"}}},
		"no name":               {Prompts: []Material{{Match: "", Can: "crud/read", With: "docs"}}},
		"files of one's root":   {Root: "/srv", Resources: []Material{{Match: "file:///srv/{a...}", Can: "crud/read", With: "file://docs/{a}"}}},
		"a brace without a end": {Resources: []Material{{Match: "docs://{a", Can: "crud/read", With: "docs"}}},
	} {
		s.ID, s.Command = "s", []string{"x"}
		if err := s.Check(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
