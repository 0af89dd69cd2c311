package anthropic_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
)

var anyNumbers = json.RawMessage(`{"type":"object","additionalProperties":{"type":"number"}}`)

// Whichever way the answer comes, its text is the JSON and nothing else.
func TestOutputThroughTheTool(t *testing.T) {
	answer := []string{
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_9","name":"answer","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
		tool1Stop,
	}
	join := func(parts ...[]string) (all []string) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	preamble := []string{begin, text0, delta0("Here it is:"), stop0}
	closing := []string{endTools, end}
	second := []string{`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_8","name":"answer","input":{"b":2}}}`, tool2Stop}
	usage := used(40)
	for _, tc := range []struct {
		name  string
		lines []string
		want  got
	}{
		{"through the tool", join([]string{begin}, answer, closing), got{Text: `{"a":1}`, Usage: usage, Finish: "tool_use"}},
		{"with words before it", join(preamble, answer, closing), got{Text: `{"a":1}`, Usage: usage, Finish: "tool_use"}},
		{"twice", join(preamble, answer, second, closing), got{Text: `{"a":1}`, Usage: usage, Finish: "tool_use"}},
		{"as text all the same", join([]string{begin, text0, delta0(`{"a":`), delta0(`1}`), stop0, endTurn, end}), got{Text: `{"a":1}`, Usage: used(12), Finish: "end_turn"}},
		{"empty", join([]string{begin}, answer[:1], answer[3:], closing), got{Text: `{}`, Usage: usage, Finish: "tool_use"}},
		{"another tool first", join(preamble, []string{tool2Start, tool2Stop}, closing), got{
			Text: "Here it is:", Usage: usage, Finish: "tool_use",
			Calls: []runtime.ToolCall{{ID: "toolu_2", Name: "covia_list", Arguments: "{}"}},
		}},
	} {
		s := serve(t, events(7, tc.lines...))
		req := say("Hi")
		req.Output, req.Tools = anyNumbers, []runtime.Tool{{Name: "covia_list"}}
		g, err := ask(t, s.model(t), req)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, g); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestOutputFormats(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"an open object is closed", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`},
		{
			"bounds are left out", `{"type":"object","properties":{"a":{"type":"string","minLength":2,"format":"regex"},"b":{"type":"array","items":{"type":"integer","minimum":1},"minItems":3}},"$schema":"x"}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"}}},"additionalProperties":false}`,
		},
		{
			"one of", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string","format":"date"},{"type":"null"}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}},"additionalProperties":false}`,
		},
		{
			"definitions unfold", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}`,
			`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"additionalProperties":false}`,
		},
		{
			"a property named like a keyword", `{"type":"object","properties":{"not":{"type":"string"},"$ref":{"type":"string"}}}`,
			`{"type":"object","properties":{"not":{"type":"string"},"$ref":{"type":"string"}},"additionalProperties":false}`,
		},
		{"no properties at all", `{"type":"object","additionalProperties":false}`, `{"type":"object","additionalProperties":false}`},
		{"any object", `{"type":"object"}`, ""},
		{"a map", string(anyNumbers), ""},
		{"a map within", `{"type":"object","properties":{"a":{"type":"object"}}}`, ""},
		{"any value within", `{"type":"object","properties":{"a":{}}}`, ""},
		{"true within", `{"type":"object","properties":{"a":true}}`, ""},
		{"recursion", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}}`, ""},
		{"recursion to the root", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, ""},
		{"definitions that explode", explosive(), ""},
		{"a reference elsewhere", `{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}}}`, ""},
		{"conditions", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]}}`, ""},
		{"negation", `{"type":"object","properties":{"a":{"not":{"type":"string"}}}}`, ""},
		{"patterns of names", `{"type":"object","properties":{},"patternProperties":{"^a":{"type":"string"}}}`, ""},
		{"a demand for a name that is not there", `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, ""},
		{"objects in an enum", `{"type":"object","properties":{"a":{"enum":[{}]}}}`, ""},
		{"too many that may be left out", many(), ""},
	} {
		s := serve(t, hello(1<<20))
		req := say("Hi")
		req.Output = json.RawMessage(tc.schema)
		if _, err := ask(t, s.model(t), req); err != nil && tc.want != "" {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var sent struct {
			OutputConfig struct {
				Format struct{ Schema any }
			} `json:"output_config"`
			Tools []struct {
				InputSchema any `json:"input_schema"`
			}
		}
		if err := json.Unmarshal(s.bodies[0], &sent); err != nil {
			t.Fatal(err)
		}
		var want, schema any
		if tc.want != "" {
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, sent.OutputConfig.Format.Schema); diff != "" {
			t.Errorf("%s: output format (-want +got):\n%s", tc.name, diff)
		}
		if tc.want != "" {
			continue
		}
		if err := json.Unmarshal([]byte(tc.schema), &schema); err != nil {
			t.Fatal(err)
		}
		if len(sent.Tools) != 1 {
			t.Errorf("%s: %d tools are offered, want the one for the answer", tc.name, len(sent.Tools))
		} else if diff := cmp.Diff(schema, sent.Tools[0].InputSchema); diff != "" {
			t.Errorf("%s: the tool's schema (-want +got):\n%s", tc.name, diff)
		}
	}
}

// explosive has definitions of which each holds the next twice.
func explosive() string {
	defs := map[string]any{"d40": map[string]any{"type": "string"}}
	ref := func(n string) any { return map[string]any{"$ref": "#/$defs/" + n} }
	for i := range 40 {
		defs["d"+strconv.Itoa(i)] = map[string]any{"type": "object", "properties": map[string]any{"a": ref("d" + strconv.Itoa(i+1)), "b": ref("d" + strconv.Itoa(i+1))}, "required": []string{"a", "b"}}
	}
	raw, _ := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"a": ref("d0")}, "$defs": defs})
	return string(raw)
}

func many() string {
	properties := make(map[string]any)
	for i := range 25 {
		properties["p"+strconv.Itoa(i)] = map[string]any{"type": "string"}
	}
	raw, _ := json.Marshal(map[string]any{"type": "object", "properties": properties})
	return string(raw)
}
