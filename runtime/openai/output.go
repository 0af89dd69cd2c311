package openai

import (
	"encoding/json"
	"maps"
	"slices"

	vendor "github.com/sashabaranov/go-openai"
)

// formOf is how the server is told the form of the answer; nil where it cannot be:
// only objects can be asked for.
func formOf(output string, schema json.RawMessage) *vendor.ChatCompletionResponseFormat {
	var root map[string]any
	switch {
	case len(schema) == 0, output == outputText, json.Unmarshal(schema, &root) != nil, root["type"] != "object":
		return nil
	case output == outputObject:
		return &vendor.ChatCompletionResponseFormat{Type: vendor.ChatCompletionResponseFormatTypeJSONObject}
	}
	return &vendor.ChatCompletionResponseFormat{
		Type:       vendor.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &vendor.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: schema, Strict: strict(root)},
	}
}

// What a strict schema may hold, by OpenAI's guide to structured outputs.
var (
	strictKeys = []string{
		"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
		"$ref", "$defs", "definitions", "title", "description", "pattern", "format", "multipleOf",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
	}
	strictFormats = []any{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

const strictDepth = 5 // levels of nesting that all servers of strict schemas take

// strict says whether root can be asked for strictly: objects name all their
// properties, require each of them and take no others, and no keyword is used
// that strict servers do not know. Elsewhere the server would refuse the
// request, so that it is asked loosely; the answer is validated in any case.
func strict(root map[string]any) bool {
	_, union := root["anyOf"]
	return !union && strictSchema(root, 1)
}

func strictSchema(schema any, depth int) bool {
	s, ok := schema.(map[string]any)
	if !ok || depth > strictDepth {
		return false
	}
	said := false // a schema of anything is not strict
	for key, value := range s {
		parts, within := []any(nil), depth+1
		switch key {
		case "properties", "$defs", "definitions":
			named, ok := value.(map[string]any)
			if !ok {
				return false
			}
			if key != "properties" {
				within = 1
			}
			parts = slices.Collect(maps.Values(named))
		case "items":
			parts = []any{value}
		case "anyOf":
			if parts, _ = value.([]any); len(parts) == 0 {
				return false
			}
			within = depth
		}
		said = said || slices.Contains([]string{"type", "$ref", "enum", "const", "anyOf"}, key)
		beyond := func(part any) bool { return !strictSchema(part, within) }
		if !slices.Contains(strictKeys, key) || key == "format" && !slices.Contains(strictFormats, value) || slices.ContainsFunc(parts, beyond) {
			return false
		}
	}
	_, has := s["properties"]
	return said && (!has && !mentions(s["type"], "object") || isClosed(s))
}

// isClosed says whether an object's schema requires exactly what it names.
func isClosed(s map[string]any) bool {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return s["additionalProperties"] == false && len(required) == len(properties)
}

func mentions(types any, name string) bool {
	if list, ok := types.([]any); ok {
		return slices.Contains(list, any(name))
	}
	return types == name
}
