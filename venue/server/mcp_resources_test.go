package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resources and prompts are what the caller may read, by whatever spelling.
func TestResourcesAndPrompts(t *testing.T) {
	p := mcpServe(t, nil, nil)
	create(t, p.alice, `{"agentId":"bob","config":{"description":"Knows books.","prompt":"You know books.","caps":[]}}`)
	for _, write := range []string{`{"path":"w/open/a b","value":"one"}`, `{"path":"w/closed","value":{"x":1}}`} {
		if _, err := p.alice.Invoke(t.Context(), "covia:write", json.RawMessage(write)); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range versions {
		all, few := p.connect(t, token(t, p.alice, "a"+version[:4]), version, nil), p.connect(t, "", version, nil)
		list, err := all.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var uris []string
		for _, r := range list.Resources {
			uris = append(uris, r.URI)
		}
		if want := []string{"usher:///w/closed", "usher:///w/open"}; !slices.Equal(uris, want) || list.CacheScope != "private" {
			t.Errorf("%s: the owner's resources are %v, cached %q; want %v", version, uris, list.CacheScope, want)
		}
		for _, tt := range []struct {
			cs        *sdk.ClientSession
			uri, want string
		}{
			{all, "usher:///w/open/a%20b", "one"},
			{all, "usher:///w/closed", `{"x":1}`},
			{all, "usher:///w/nothing", "there is no value"},
			{all, "usher:///w/open/../closed", "invalid input"},
			{all, "other:///w", "no resource of that address"},
			{all, "usher:///w/" + strings.Repeat("a", 8<<10), "at most 8192"},
			{few, "usher:///w/closed", "Capability denied: v/ops/covia/read requires crud/read on w/closed."},
			{few, "usher:///w/open%2F..%2Fclosed", "invalid input"},
			{few, "usher:///w/open/x", "there is no value"},
		} {
			var said string
			if res, err := tt.cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: tt.uri}); err != nil {
				said = err.Error()
			} else {
				said = res.Contents[0].Text
			}
			if !strings.Contains(said, tt.want) {
				t.Errorf("%s: %.100s is %.300q, want %q", version, tt.uri, said, tt.want)
			}
		}
		prompt, err := all.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "bob"})
		if err != nil || prompt.Messages[0].Content.(*sdk.TextContent).Text != "You know books." {
			t.Errorf("%s: bob's prompt is %v, %v", version, prompt, err)
		}
		if prompts, err := few.ListPrompts(t.Context(), nil); err != nil || len(prompts.Prompts) != 0 {
			t.Errorf("%s: who may not read bob sees the prompts %v, %v", version, prompts, err)
		}
		if _, err := few.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "bob"}); err == nil || !strings.Contains(err.Error(), "Capability denied") {
			t.Errorf("%s: who may not read bob gets his prompt: %v", version, err)
		}
	}
}
