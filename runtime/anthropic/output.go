package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"usher/runtime"
)

// answerTool is the name of the tool through which an answer comes whose schema
// the API cannot hold a text to.
const answerTool = "answer"

// output asks for an answer that fits req.Output: by the API's own output
// format where its part of JSON Schema can say it, else as the arguments of a
// tool, whose name it returns. Where neither can, told is false, and the system
// message must say it. The runtime checks every answer in any case.
func output(params *sdk.MessageNewParams, req *runtime.Request, budgeted bool) (tool string, told bool) {
	if req.Output == nil {
		return "", true
	}
	var schema map[string]any
	if json.Unmarshal(req.Output, &schema) != nil || schema["type"] != "object" {
		return "", false
	}
	if format, ok := narrow(schema); ok {
		params.OutputConfig.Format.Schema = format
		return "", true
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

// What an output format may hold. What only bounds a value is left to the
// runtime's check; what decides its shape, and is in neither list, is beyond it.
var (
	formatKeeps = []string{"type", "description", "title", "required"}
	formatDrops = []string{
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
		"default", "examples", "readOnly", "writeOnly", "deprecated", "$schema", "$id", "$comment",
	}
	formatStrings = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)

// Limits of the API's output formats, and one of our own on definitions that
// unfold without end.
const (
	formatOptional = 24 // properties that are not required
	formatUnions   = 16 // values of several types
	formatParts    = 1000
)

// narrow returns schema in the form that the API's output format takes, and
// false where there is none. Objects are closed, as the API demands: an answer
// that fits the closed object fits the open one.
func narrow(schema map[string]any) (map[string]any, bool) {
	n := narrower{defs: make(map[string]any)}
	for _, key := range []string{"$defs", "definitions"} {
		defs, _ := schema[key].(map[string]any)
		for name, def := range defs {
			n.defs["#/"+key+"/"+name] = def
		}
	}
	out, ok := n.schema(schema, true)
	return out, ok && n.optional <= formatOptional && n.unions <= formatUnions
}

type narrower struct {
	defs                    map[string]any // by reference
	open                    []string       // references that are being followed
	optional, unions, parts int
}

func (n *narrower) schema(schema any, root bool) (map[string]any, bool) {
	in, ok := schema.(map[string]any)
	if n.parts++; !ok || len(in) == 0 || n.parts > formatParts {
		return nil, false // true, false and {} are any value or none
	}
	if ref, ok := in["$ref"].(string); ok {
		return n.ref(ref, len(in) == 1)
	}
	out := make(map[string]any, len(in))
	for key, value := range in {
		switch {
		case slices.Contains(formatKeeps, key):
			out[key] = value
		case key == "const":
			out[key], ok = value, plain(value)
		case key == "enum":
			list, _ := value.([]any)
			out[key], ok = value, len(list) > 0 && plain(list...)
		case slices.Contains(formatDrops, key), root && (key == "$defs" || key == "definitions"):
		case key == "format":
			if s, ok := value.(string); ok && slices.Contains(formatStrings, s) {
				out[key] = value
			}
		case key == "items":
			out[key], ok = n.schema(value, false)
		case key == "anyOf", key == "oneOf": // what fits one alone fits one of them
			out["anyOf"], ok = n.list(value)
		case key == "properties":
			out[key], ok = n.properties(value)
		case key == "additionalProperties":
			ok = value == false || value == true && in["properties"] != nil
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
		ok = true
	}
	if in["anyOf"] != nil && in["oneOf"] != nil {
		return nil, false
	}
	if _, several := in["type"].([]any); several || out["anyOf"] != nil {
		n.unions++
	}
	if mentions(in["type"], "object") {
		if in["properties"] == nil && in["additionalProperties"] != false {
			return nil, false // closed, it could only be empty
		}
		if !n.required(in) {
			return nil, false
		}
		out["additionalProperties"] = false
	} else if in["properties"] != nil {
		return nil, false
	}
	return out, len(out) > 0
}

// required counts the properties that are not required, and refuses a demand
// for one that the closed object cannot have.
func (n *narrower) required(object map[string]any) bool {
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	for _, name := range required {
		if name, ok := name.(string); !ok || properties[name] == nil {
			return false
		}
	}
	n.optional += max(0, len(properties)-len(required))
	return true
}

// plain reports whether values, of an enum or a const, are neither objects nor lists.
func plain(values ...any) bool {
	return !slices.ContainsFunc(values, func(v any) bool {
		_, object := v.(map[string]any)
		_, list := v.([]any)
		return object || list
	})
}

// ref puts the definition in the reference's place. One that comes to itself
// again is beyond the format.
func (n *narrower) ref(ref string, alone bool) (map[string]any, bool) {
	def, known := n.defs[ref]
	if !known || !alone || slices.Contains(n.open, ref) || strings.ContainsAny(ref, "~%") {
		return nil, false
	}
	n.open = append(n.open, ref)
	out, ok := n.schema(def, false)
	n.open = n.open[:len(n.open)-1]
	return out, ok
}

func (n *narrower) list(value any) ([]any, bool) {
	in, ok := value.([]any)
	if !ok || len(in) == 0 {
		return nil, false
	}
	out := make([]any, len(in))
	for i := range in {
		if out[i], ok = n.schema(in[i], false); !ok {
			return nil, false
		}
	}
	return out, true
}

func (n *narrower) properties(value any) (map[string]any, bool) {
	in, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, len(in))
	for name, property := range in {
		if out[name], ok = n.schema(property, false); !ok {
			return nil, false
		}
	}
	return out, true
}

// mentions reports whether a "type" is or lists the name.
func mentions(types any, name string) bool {
	if list, ok := types.([]any); ok {
		return slices.Contains(list, any(name))
	}
	return types == name
}
