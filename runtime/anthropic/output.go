package anthropic

import (
	"encoding/json"
	"slices"

	"usher/runtime"
)

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
