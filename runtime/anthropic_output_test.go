package runtime_test

import (
	"encoding/json"
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

// The tool has the schema as it is, however much is in it.
func TestOutputSchemas(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object"}`, string(anyNumbers),
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}}`,
		`{"type":"object","properties":{"a":{"not":{"type":"string"}}},"if":{"required":["a"]}}`,
	} {
		s := serve(t, hello(1<<20))
		req := say("Hi")
		req.Output = json.RawMessage(schema)
		if _, err := ask(t, s.model(t), req); err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		var sent struct {
			Tools []struct {
				InputSchema json.RawMessage `json:"input_schema"`
			}
		}
		if err := json.Unmarshal(s.bodies[0], &sent); err != nil {
			t.Fatal(err)
		}
		if len(sent.Tools) != 1 || string(sent.Tools[0].InputSchema) != schema {
			t.Errorf("the tools are %s, want one with the schema %s", sent.Tools, schema)
		}
	}
}
