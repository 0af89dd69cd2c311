package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/content"
	"usher/tools/dialog"
	"usher/tools/schema"
)

// path is the catalogue path of an operation of a name that has no capitals.
func path(name string) string { return "v/ops/" + strings.ReplaceAll(name, ":", "/") }

// tool is an operation that is called by a tool of exactly the name.
func tool(name, input string, run func(ctx context.Context, call tools.Call, in json.RawMessage) (any, error)) *tools.Operation {
	return defined(name, input, false, run)
}

func defined(name, input string, keyed bool, run func(ctx context.Context, call tools.Call, in json.RawMessage) (any, error)) *tools.Operation {
	compiled, err := schema.Compile(context.Background(), json.RawMessage(input), nil)
	if err != nil {
		panic(fmt.Sprintf("schema of %s: %v", name, err))
	}
	return tools.Define(tools.Definition{
		Path: name, Description: "For the conformance suite.", Input: compiled, Output: contentSchema,
		Needs:  func(json.RawMessage) []caps.Request { return []caps.Request{caps.Need(may, "fixtures/"+name)} },
		Scopes: [][]caps.Scope{{caps.ScopeExactly(may, "fixtures/"+name)}},
		Keyed:  keyed,
		Run:    run,
	})
}

// keyed is a tool whose call is made again when what it waits for has come.
func keyed(name string, run func(ctx context.Context, call tools.Call, in json.RawMessage) (any, error)) *tools.Operation {
	return defined(name, anything, true, run)
}

// contentSchema is the schema of content.
var contentSchema = func() *schema.Schema {
	s, err := schema.Compile(context.Background(), json.RawMessage(`{"type":"object","properties":{"content":{"type":"array","items":{"type":"object","`+content.Mark+`":true}}}}`), nil)
	if err != nil {
		panic(err)
	}
	return s
}()

const anything = `{"type":"object"}`

// fixed is a tool that says the same each time.
func fixed(name string, blocks ...content.Block) *tools.Operation {
	return tool(name, anything, func(context.Context, tools.Call, json.RawMessage) (any, error) { return content.Of(blocks...), nil })
}

const dialect = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
	"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
	"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
	"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
	"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
	"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

const mirror = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`

func contents() []*tools.Operation {
	text := content.Text
	list := []*tools.Operation{
		fixed("test_simple_text", text("This is a simple text response for testing.")),
		fixed("test_image_content", content.Image([]byte(picture), "image/png")),
		fixed("test_audio_content", content.Audio([]byte(sound), "audio/wav")),
		fixed("test_embedded_resource", content.TextResource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
		fixed("test_multiple_content_types", text("Multiple content types test:"), content.Image([]byte(picture), "image/png"),
			content.TextResource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
		tool("test_error_handling", anything, func(context.Context, tools.Call, json.RawMessage) (any, error) {
			return nil, errors.New("this tool intentionally returns an error for testing")
		}),
		tool("json_schema_2020_12_tool", dialect, func(_ context.Context, _ tools.Call, in json.RawMessage) (any, error) {
			return content.Of(text(string(in))), nil
		}),
		tool("test_x_mcp_header", mirror, func(_ context.Context, _ tools.Call, in json.RawMessage) (any, error) {
			return content.Of(text(string(in))), nil
		}),
		tool("test_tool_with_logging", anything, func(ctx context.Context, call tools.Call, _ json.RawMessage) (any, error) {
			line := dialog.Of(ctx, call)
			for _, say := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				line.Note("info", say)
			}
			return content.Of(text("Tool with logging executed successfully")), nil
		}),
		tool("test_logging_tool", anything, func(ctx context.Context, call tools.Call, _ json.RawMessage) (any, error) {
			dialog.Of(ctx, call).Note("info", "A note that nobody asked for")
			return content.Of(text("done")), nil
		}),
		tool("test_tool_with_progress", anything, steps),
		tool("test_streaming_elicitation", anything, steps),
	}
	return append(list, suiteOffered()...)
}

func steps(ctx context.Context, call tools.Call, _ json.RawMessage) (any, error) {
	line := dialog.Of(ctx, call)
	for _, done := range []float64{0, 50, 100} {
		line.Progress(done, 100, fmt.Sprintf("Completed step %.0f of 100", done))
	}
	return content.Of(content.Text("done")), nil
}

// suiteOffered are the prompts and the resources.
func suiteOffered() []*tools.Operation {
	type arguments struct {
		Arg1 string `json:"arg1"`
		Arg2 string `json:"arg2"`
	}
	type embedded struct {
		ResourceURI string `json:"resourceUri"`
	}
	type one struct {
		ID string `json:"id"`
	}
	return []*tools.Operation{
		op("prompt:simple", says(content.Text("This is a simple prompt for testing."))),
		op("prompt:arguments", func(_ context.Context, _ tools.Call, in arguments) (content.Output, error) {
			return content.Of(content.Text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", in.Arg1, in.Arg2))), nil
		}),
		op("prompt:resource", func(_ context.Context, _ tools.Call, in embedded) (content.Output, error) {
			return content.Of(content.TextResource(in.ResourceURI, "text/plain", "Embedded resource content for testing."), content.Text("Please process the embedded resource above.")), nil
		}),
		op("prompt:image", says(content.Image([]byte(picture), "image/png"), content.Text("Please analyze the image above."))),
		op("prompt:asking", func(ctx context.Context, call tools.Call, _ none) (content.Output, error) {
			form, ok := dialog.Of(ctx, call).Form("user_context")
			if !ok {
				return content.Output{}, form1("user_context", "Please provide context for the prompt", "context")
			}
			return content.Of(content.Text(fmt.Sprintf("Context: %v", form["context"]))), nil
		}),
		op("resource:text", says(content.TextResource("test://static-text", "text/plain", "This is the content of the static text resource."))),
		op("resource:binary", says(content.BinaryResource("test://static-binary", "image/png", []byte(picture)))),
		op("resource:one", func(_ context.Context, _ tools.Call, in one) (content.Output, error) {
			said, err := json.Marshal(map[string]any{"id": in.ID, "templateTest": true, "data": "Data for ID: " + in.ID})
			return content.Of(content.TextResource("test://template/"+in.ID+"/data", "application/json", string(said))), err
		}),
		op("resource:watched", says(content.TextResource("test://watched-resource", "text/plain", "Watched resource content"))),
	}
}
