package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"usher/caps"
	"usher/prompt"
	"usher/runtime"
	"usher/runtime/endpoint"
)

// params writes the request as the API wants it. Where the answer is to come as
// the arguments of a tool, it returns that tool's name.
func (m *Model) params(req *runtime.Request) (params sdk.MessageNewParams, answerTool string, err error) {
	params = sdk.MessageNewParams{
		Model:     m.opts.Model,
		MaxTokens: int64(m.opts.MaxTokens),
	}
	if t := m.opts.Temperature; t != nil {
		params.Temperature = sdk.Float(*t)
	}
	if p := m.opts.TopP; p != nil {
		params.TopP = sdk.Float(*p)
	}
	c := conversation{thoughts: &m.thoughts, ids: make(map[string]string), used: make(map[string]bool)}
	for i := range req.Messages {
		if err := c.add(&req.Messages[i]); err != nil {
			return params, "", err
		}
	}
	if len(c.messages) == 0 {
		return params, "", errors.New("nothing was said to the model: say something")
	}
	params.Messages = c.messages
	budget := m.opts.ThinkingBudget
	if budget > 0 && !c.thinksOn() {
		budget = 0
	}
	params.Thinking = thinking(budget)
	for i := range req.Tools {
		tool, err := toolParam(&req.Tools[i])
		if err != nil {
			return params, "", err
		}
		params.Tools = append(params.Tools, tool)
	}
	answerTool, told := output(&params, req, budget > 0)
	system := req.System
	if !told {
		system = endpoint.WithSchema(system, req.Output)
	}
	params.System = m.system(system)
	if n := len(params.Tools); n > 0 && !m.opts.NoPromptCache {
		params.Tools[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	return params, answerTool, nil
}

// disclosure is the line that opens the disclosure of capabilities.
var disclosure, _, _ = strings.Cut(prompt.Disclosure(caps.Set{}), "\n")

// system is the system message. The API keeps the part before the disclosure;
// the disclosure, which changes with the capabilities, does not spoil it. The
// blocks together are the message, byte for byte.
func (m *Model) system(text string) []sdk.TextBlockParam {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if m.opts.NoPromptCache {
		return []sdk.TextBlockParam{{Text: text}}
	}
	stable, rest := text, ""
	// The last one is the prompt's own: it stands at the end.
	if i := strings.LastIndex("\n"+text, "\n"+disclosure+"\n"); i >= 0 {
		head := strings.TrimRight(text[:i], "\n")
		stable, rest = head, text[len(head):]
	}
	var blocks []sdk.TextBlockParam
	if strings.TrimSpace(stable) == "" {
		return []sdk.TextBlockParam{{Text: text}}
	}
	blocks = append(blocks, sdk.TextBlockParam{Text: stable, CacheControl: sdk.NewCacheControlEphemeralParam()})
	if rest != "" {
		blocks = append(blocks, sdk.TextBlockParam{Text: rest})
	}
	return blocks
}

// thinking is written as JSON: for some models the SDK answers its own type for
// budgets with a warning on standard error.
func thinking(budget thinkingBudget) sdk.ThinkingConfigParamUnion {
	switch {
	case budget == Adaptive:
		// Some models leave their thinking out unless asked for it.
		return sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}}
	case budget > 0:
		return param.Override[sdk.ThinkingConfigParamUnion](map[string]any{"type": "enabled", "budget_tokens": budget})
	}
	return sdk.ThinkingConfigParamUnion{}
}

func toolParam(tool *runtime.Tool) (sdk.ToolUnionParam, error) {
	schema, err := toolSchema(tool.Input)
	if err != nil {
		return sdk.ToolUnionParam{}, fmt.Errorf("input schema of tool %s: %w", tool.Name, err)
	}
	p := &sdk.ToolParam{Name: tool.Name, InputSchema: schema}
	if tool.Description != "" {
		p.Description = sdk.String(tool.Description)
	}
	return sdk.ToolUnionParam{OfTool: p}, nil
}

// toolSchema is the schema as it is, as far as the API takes it: it must be of
// an object, and not be put together at the top. What is left out here, the
// gate still checks.
func toolSchema(raw json.RawMessage) (sdk.ToolInputSchemaParam, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "true" || string(raw) == "null" {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	var schema map[string]json.RawMessage
	if err := json.Unmarshal(raw, &schema); err != nil {
		return sdk.ToolInputSchemaParam{}, fmt.Errorf("it is no JSON object: %w", err)
	}
	changed := string(schema["type"]) != `"object"`
	schema["type"] = json.RawMessage(`"object"`)
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if _, ok := schema[key]; ok {
			delete(schema, key)
			changed = true
		}
	}
	if !changed {
		return param.Override[sdk.ToolInputSchemaParam](raw), nil
	}
	return param.Override[sdk.ToolInputSchemaParam](schema), nil
}
