package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/content"
	"usher/venue"
	"usher/venue/mcp"
)

// suiteUser is whom the conformance suite of MCP calls as.
const suiteUser = "suite"

// suiteAgent is an agent that asks before it deletes.
const suiteAgent = "clerk"

// openSuite opens the venue of the suite, and returns how its face serves it. What the suite asks
// of a server are ordinary operations here, so that each of its calls goes through the gate.
func openSuite(ctx context.Context, o *venue.Options) (*venue.Venue, *mcp.Options, error) {
	if o == nil {
		o = new(venue.Options)
	}
	ops := slices.Concat(contents(), questioning(), lasting(), changes())
	o.Tools = append(o.Tools, ops...)
	o.Models = map[string]runtime.Model{"default": deleter{}}
	v, err := venue.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	u, err := v.User(ctx, suiteUser)
	if err == nil {
		_, err = u.Invoke(ctx, "agent:create", map[string]any{"agentId": suiteAgent, "config": map[string]any{
			"tools": []string{"covia:delete"}, "caps": json.RawMessage(`[{"with":"w/files","can":"crud/delete","ask":true}]`),
		}})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("prepare the venue: %w", err)
	}
	return v, &mcp.Options{Prompts: prompts(), Resources: resources(), Work: work()}, nil
}

// may is what all operations here need.
const may = "fixture/use"

// need is the need of an operation on what it is.
func need[In any](name string) func(In) []caps.Request {
	return func(In) []caps.Request { return []caps.Request{caps.Need(may, "fixtures/"+name)} }
}

// op is an operation whose tool is called suite_<name>.
func op[In, Out any](name string, run func(context.Context, tools.Call, In) (Out, error), opts ...tools.Option) *tools.Operation {
	return tools.New(name, "For the conformance suite.", need[In](name), run, append(opts, tools.Within(caps.ScopeExactly(may, "fixtures/"+name)))...)
}

// none is the input of operations that take nothing.
type none struct{}

// Pictures and sounds of one pixel and no length.
const (
	picture = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\fIDATx\xdac\xfc\xcf\xf0\x1f\x00\x05\x05\x02\x00_\xc8\xf1\xd2\x00\x00\x00\x00IEND\xaeB`\x82"
	sound   = "RIFF&\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00"
)

func says(blocks ...content.Block) func(context.Context, tools.Call, none) (content.Output, error) {
	return func(context.Context, tools.Call, none) (content.Output, error) { return content.Of(blocks...), nil }
}

func prompts() []mcp.Prompt {
	argument := func(name string) *sdk.PromptArgument {
		return &sdk.PromptArgument{Name: name, Description: "For the conformance suite.", Required: true}
	}
	return []mcp.Prompt{
		{Name: "test_simple_prompt", Description: "A prompt without arguments.", Operation: path("prompt:simple")},
		{Name: "test_prompt_with_arguments", Description: "A prompt with arguments.", Operation: path("prompt:arguments"), Arguments: []*sdk.PromptArgument{argument("arg1"), argument("arg2")}},
		{Name: "test_prompt_with_embedded_resource", Description: "A prompt with a resource.", Operation: path("prompt:resource"), Arguments: []*sdk.PromptArgument{argument("resourceUri")}},
		{Name: "test_prompt_with_image", Description: "A prompt with a picture.", Operation: path("prompt:image")},
		{Name: "test_input_required_result_prompt", Description: "A prompt that asks.", Operation: path("prompt:asking")},
	}
}

func resources() []mcp.Resource {
	return []mcp.Resource{
		{URI: "test://static-text", Name: "static-text", Description: "A text.", MIME: "text/plain", Operation: path("resource:text")},
		{URI: "test://static-binary", Name: "static-binary", Description: "A picture.", MIME: "image/png", Operation: path("resource:binary")},
		{URI: "test://template/{id}/data", Name: "template", Description: "One of many.", MIME: "application/json", Operation: path("resource:one")},
		{URI: "test://watched-resource", Name: "watched-resource", Description: "A text to hear of.", MIME: "text/plain", Operation: path("resource:watched")},
	}
}
