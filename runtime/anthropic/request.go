package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/prompt"
	"usher/runtime"
	"usher/runtime/endpoint"
)

// params writes the request as the API wants it. Where the answer is to come as
// the arguments of a tool, it returns that tool's name.
func (m *Model) params(req *runtime.Request) (params request, answerTool string, err error) {
	params = request{Model: m.opts.Model, MaxTokens: m.opts.MaxTokens, Temperature: m.opts.Temperature, TopP: m.opts.TopP}
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
	params.Thinking = thinks(budget)
	for i := range req.Tools {
		t := &req.Tools[i]
		schema, err := toolSchema(t.Input)
		if err != nil {
			return params, "", fmt.Errorf("input schema of tool %s: %w", t.Name, err)
		}
		params.Tools = append(params.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	answerTool, told := output(&params, req, budget > 0)
	system := req.System
	if !told {
		system = endpoint.WithSchema(system, req.Output)
	}
	params.System = m.system(system)
	if n := len(params.Tools); n > 0 && !m.opts.NoPromptCache {
		params.Tools[n-1].CacheControl = ephemeral
	}
	return params, answerTool, nil
}

// disclosure is the line that opens the disclosure of capabilities.
var disclosure, _, _ = strings.Cut(prompt.Disclosure(caps.Set{}), "\n")

// system is the system message. The API keeps the part before the disclosure;
// the disclosure, which changes with the capabilities, does not spoil it. The
// blocks together are the message, byte for byte.
func (m *Model) system(all string) []block {
	if strings.TrimSpace(all) == "" {
		return nil
	}
	stable, rest := all, ""
	// The last one is the prompt's own: it stands at the end.
	if i := strings.LastIndex("\n"+all, "\n"+disclosure+"\n"); i >= 0 {
		head := strings.TrimRight(all[:i], "\n")
		stable, rest = head, all[len(head):]
	}
	if m.opts.NoPromptCache || strings.TrimSpace(stable) == "" {
		return []block{newText(all)}
	}
	kept := newText(stable)
	kept.CacheControl = ephemeral
	if rest == "" {
		return []block{kept}
	}
	return []block{kept, newText(rest)}
}

func thinks(budget thoughtBudget) *thought {
	switch {
	case budget == Adaptive:
		return &thought{Display: "summarized", Type: "adaptive"} // some models leave their thinking out unless asked for it
	case budget > 0:
		return &thought{Budget: int(budget), Type: "enabled"}
	}
	return nil
}

// toolSchema is the schema as it is, as far as the API takes it: it must be of
// an object, and not be put together at the top. What is left out here, the
// gate still checks.
func toolSchema(raw json.RawMessage) (json.RawMessage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "true" || string(raw) == "null" {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	var schema map[string]json.RawMessage
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %w", err)
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
		return raw, nil
	}
	return json.Marshal(schema)
}

// answerTool is the name of the tool through which an answer comes that is to fit
// a schema.
const answerTool = "answer"

// output asks for an answer that fits req.Output as the arguments of a tool,
// whose name it returns: a tool takes any schema of an object. Where it is of
// something else, told is false, and the system message must say it. The runtime
// checks every answer in any case.
func output(params *request, req *runtime.Request, budgeted bool) (name string, told bool) {
	if req.Output == nil {
		return "", true
	}
	var schema struct{ Type any }
	if json.Unmarshal(req.Output, &schema) != nil || schema.Type != "object" {
		return "", false
	}
	input, err := toolSchema(req.Output)
	if err != nil {
		return "", false
	}
	name = answerTool
	for slices.ContainsFunc(req.Tools, func(t runtime.Tool) bool { return t.Name == name }) {
		name += "_"
	}
	params.Tools = append(params.Tools, tool{
		Name:        name,
		Description: "Give your final answer: the arguments are the answer. Call it once, when everything else is done.",
		InputSchema: input,
	})
	switch {
	case budgeted: // the API takes no forced tool beside a thinking budget
	case len(req.Tools) == 0:
		params.ToolChoice = &toolChoice{Name: name, DisableParallel: true, Type: "tool"}
	default:
		params.ToolChoice = &toolChoice{Type: "any"}
	}
	return name, true
}
