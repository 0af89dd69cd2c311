package anthropic

import (
	"encoding/json"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"usher/runtime"
)

// answerTool is the name of the tool through which an answer comes that is to fit
// a schema.
const answerTool = "answer"

// output asks for an answer that fits req.Output as the arguments of a tool,
// whose name it returns: a tool takes any schema of an object. Where it is of
// something else, told is false, and the system message must say it. The runtime
// checks every answer in any case.
func output(params *sdk.MessageNewParams, req *runtime.Request, budgeted bool) (tool string, told bool) {
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
	tool = answerTool
	for slices.ContainsFunc(req.Tools, func(t runtime.Tool) bool { return t.Name == tool }) {
		tool += "_"
	}
	params.Tools = append(params.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
		Name:        tool,
		Description: sdk.String("Give your final answer: the arguments are the answer. Call it once, when everything else is done."),
		InputSchema: input,
	}})
	switch {
	case budgeted: // the API takes no forced tool beside a thinking budget
	case len(req.Tools) == 0:
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfTool: &sdk.ToolChoiceToolParam{Name: tool, DisableParallelToolUse: sdk.Bool(true)}}
	default:
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
	}
	return tool, true
}
