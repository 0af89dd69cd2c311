package openai

import (
	"encoding/json"
	"testing"
)

func TestStrict(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		want         bool
	}{
		{"closed object", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, true},
		{"no properties", `{"type":"object","properties":{},"required":[],"additionalProperties":false}`, true},
		{"nullable", `{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]}},"required":["a"],"additionalProperties":false}`, true},
		{"nested", `{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"type":"number","minimum":0},{"$ref":"#/$defs/d"}]}}},"required":["a"],"additionalProperties":false,"$defs":{"d":{"type":"object","properties":{},"additionalProperties":false}}}`, true},
		{"optional property", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`, false},
		{"required but unnamed", `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"],"additionalProperties":false}`, false},
		{"open object", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false},
		{"open nested object", `{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`, false},
		{"open definition", `{"type":"object","properties":{},"additionalProperties":false,"$defs":{"d":{"type":"object"}}}`, false},
		{"map", `{"type":"object","properties":{},"additionalProperties":{"type":"string"}}`, false},
		{"anything", `{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`, false},
		{"true as schema", `{"type":"object","properties":{"a":true},"required":["a"],"additionalProperties":false}`, false},
		{"unknown keyword", `{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`, false},
		{"unknown format", `{"type":"object","properties":{"a":{"type":"string","format":"uri"}},"required":["a"],"additionalProperties":false}`, false},
		{"allOf", `{"type":"object","properties":{"a":{"allOf":[{"type":"string"}]}},"required":["a"],"additionalProperties":false}`, false},
		{"union at the root", `{"type":"object","anyOf":[{"type":"string"}],"properties":{},"additionalProperties":false}`, false},
		{"empty union", `{"type":"object","properties":{"a":{"anyOf":[]}},"required":["a"],"additionalProperties":false}`, false},
		{"too deep", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}},"required":["a"],"additionalProperties":false}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var root map[string]any
			if err := json.Unmarshal([]byte(tt.schema), &root); err != nil {
				t.Fatal(err)
			}
			if got := strict(root); got != tt.want {
				t.Errorf("strict(%s) = %t, want %t", tt.schema, got, tt.want)
			}
		})
	}
}
