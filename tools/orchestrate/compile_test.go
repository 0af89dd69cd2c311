package orchestrate

import (
	"encoding/json"
	"strings"
	"testing"

	"usher/tools"
)

func TestCompileRefuses(t *testing.T) {
	echo := func(rest string) string { return plan(`[{"op":"test:echo"},{"op":"test:echo",`+rest+`}]`, "") }
	tests := []struct{ name, doc, want string }{
		{"not an object", `[]`, "an orchestration is a list here: write an object"},
		{"not JSON", `{`, "malformed JSON at byte 1: unexpected end of JSON input"},
		{"unknown key", `{"operation":{},"nam":"x"}`, `unknown key "nam" in an orchestration: did you mean "name"?`},
		{"wrong type", `{"type":"agent","operation":{}}`, `type "agent": write "orchestration"`},
		{"no operation", `{"name":"x"}`, `an orchestration lacks "operation": write for example operation: {"adapter": "orchestrator", "steps": […]}`},
		{"wrong adapter", `{"operation":{"adapter":"covia:write","steps":[]}}`, `operation.adapter: is "covia:write": write "orchestrator"`},
		{"unknown body key", `{"operation":{"adapter":"orchestrator","step":[]}}`, `operation: unknown key "step" in operation: did you mean "steps"?`},
		{"no steps", plan(`[]`, ""), `operation.steps: there are none: write at least one, for example [{"op":"covia:read","input":{"path":"w/notes"}}]`},
		{"too many steps", plan(`[`+strings.Repeat(`{"op":"a:b"},`, 256)+`{"op":"a:b"}]`, ""), "operation.steps: there are 257, 256 is the most: move some into an orchestration of their own"},
		{"step is no object", plan(`["a"]`, ""), `operation.steps[0]: a step is text here: write an object, for example {"op": "covia:read", "input": {"path": ["input", "path"]}}`},
		{"unknown step key", echo(`"inpt":{}`), `operation.steps[1]: unknown key "inpt" in a step: did you mean "input"?`},
		{"key twice", echo(`"op":"x"`), `operation.steps[1]: key "op" stands twice: write it once`},
		{"no op", plan(`[{}]`, ""), `operation.steps[0]: a step lacks "op": write for example op: covia:read`},
		{"op from data", plan(`[{"op":["input","op"]}]`, ""), `operation.steps[0]: op is a list: write text, for example op: covia:read`},
		{"duplicate name", plan(`[{"op":"a:b","name":"x"},{"op":"a:b","name":"x"}]`, ""), `operation.steps[1].name: step 0 is called "x" already: choose another name`},
		{"same step", echo(`"input":{"value":[1,"value"]}`), `operation.steps[1].input.value: step 1 does not come before step 1: refer to step 0`},
		{"later step", plan(`[{"op":"a:b","input":{"x":["concat","a",[1]]}},{"op":"a:b"}]`, ""), `operation.steps[0].input.x[2]: step 1 does not come before step 0: step 0 can refer to ["input",…] only`},
		{"no such step", echo(`"input":{"value":[7]}`), `operation.steps[1].input.value: there is no step 7: refer to step 0`},
		{"negative step", echo(`"input":{"value":[-1]}`), `operation.steps[1].input.value: there is no step -1: refer to step 0`},
		{"fraction of a step", echo(`"input":{"value":[0.5]}`), `operation.steps[1].input.value: 0.5 is no step number: write [0,…] for the output of step 0; a list as it stands is ["const",[…]]`},
		{"after a later step", echo(`"after":[1]`), `operation.steps[1].after[0]: step 1 does not come before step 1: refer to step 0`},
		{"after no step", echo(`"after":[9]`), `operation.steps[1].after[0]: there is no step 9: refer to step 0`},
		{"empty list", echo(`"input":{"value":[]}`), `operation.steps[1].input.value: the list is empty: write ["const",[]] for an empty list`},
		{"misspelt head", echo(`"input":{"value":["inputs","a"]}`), `operation.steps[1].input.value: unknown "inputs": did you mean ["input",…]?`},
		{"unknown head", echo(`"input":{"value":["red","green"]}`), `operation.steps[1].input.value: unknown "red": a list begins with "input", "const", "concat" or the number of a step; a list as it stands is ["const",[…]]`},
		{"list of lists", echo(`"input":{"value":[[0]]}`), `operation.steps[1].input.value: a list begins with "input", "const", "concat" or the number of a step, not with an array; a list as it stands is ["const",[…]]`},
		{"two constants", echo(`"input":{"value":["const",1,2]}`), `operation.steps[1].input.value: "const" takes one value and got 2: write ["const",value]`},
		{"joins nothing", echo(`"input":{"value":["concat"]}`), `operation.steps[1].input.value: "concat" joins nothing: write ["concat",spec,spec]`},
		{"bad path", echo(`"input":{"value":[0,true]}`), `operation.steps[1].input.value[1]: a path is made of keys and array indexes, not of true`},
		{"negative index", echo(`"input":{"value":[0,-1]}`), `operation.steps[1].input.value[1]: a path is made of keys and array indexes, not of -1`},
		{"text as input", echo(`"input":"x"`), `operation.steps[1].input: it is a string: an operation takes an object: write {"field":spec}`},
		{"list as input", echo(`"input":["const",[1]]`), `operation.steps[1].input: it is an array: an operation takes an object: write {"field":spec}`},
		{"joined input", echo(`"input":["concat","a"]`), `operation.steps[1].input: "concat" makes no object: write {"field":["concat",…]}`},
		{"too deep", echo(`"input":` + strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)), "operation.steps[1].input" + strings.Repeat(".a", 65) + ": it is nested too deeply: make it flatter"},
		{"result of no step", plan(`[{"op":"a:b"}]`, `[1]`), `operation.result: there is no step 1: refer to step 0`},
		{"bad schema", `{"operation":{"adapter":"orchestrator","input":{"type":"objekt"},"steps":[{"op":"a:b"}]}}`, `operation.input: schema: type: expected one of "array", "boolean", "integer", "null", "number", "object", "string", got "objekt"`},
		{"remote schema", `{"operation":{"adapter":"orchestrator","output":{"$ref":"http://x/y"},"steps":[{"op":"a:b"}]}}`, `operation.output: schema: it refers to "http://x/y", which is not part of it: copy what it needs below $defs and write #/$defs/<name>`},
		{"input of another type", `{"operation":{"adapter":"orchestrator","input":{"type":"string"},"steps":[{"op":"a:b"}]}}`, `operation.input: its type is "string": an operation takes an object: write "type":"object"`},
		{"too large", `{"name":"` + strings.Repeat("x", maxBytes) + `"}`, "it has 262155 bytes, 262144 is the most: split it into several"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile(t.Context(), "o/plan", json.RawMessage(tt.doc), nil)
			if want := "orchestration o/plan: " + tt.want; err == nil || err.Error() != want {
				t.Errorf("Compile\n got %v\nwant %s", err, want)
			}
		})
	}
}

func TestCompilePath(t *testing.T) {
	doc := json.RawMessage(plan(`[{"op":"a:b"}]`, ""))
	for path, want := range map[string]string{"o/plan": "o/plan", "/o/plan/": "o/plan", "o/a/b": "o/a/b", "w/plan": "", "o": "", "": "", "o/../x": ""} {
		p, err := Compile(t.Context(), path, doc, nil)
		got := ""
		if err == nil {
			got = p.path
		}
		if got != want {
			t.Errorf("Compile(%q) = %q, %v, want %q", path, got, err, want)
		}
	}
}

func decoded(t *testing.T, doc string) any {
	t.Helper()
	v, err := decode(json.RawMessage(doc))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, doc string
		ok        bool
	}{
		{"data", `{"a":1}`, true},
		{"a list", `[1]`, true},
		{"a text", `"operation"`, true},
		{"a pin", `{"operation":{"adapter":"covia:write"}}`, true},
		{"a good one", plan(`[{"op":"a:b"}]`, ""), true},
		{"no steps", plan(`[]`, ""), false},
		{"later step", plan(`[{"op":"a:b","input":{"x":[1]}},{"op":"a:b"}]`, ""), false},
		{"steps of another adapter", `{"operation":{"adapter":"orchestrate","steps":[{"op":"a:b"}]}}`, false},
		{"type of another adapter", `{"type":"orchestration","operation":{"adapter":"covia:write"}}`, false},
		{"no adapter", `{"operation":{"steps":[{"op":"a:b"}]}}`, false},
		{"null", `{"operation":null}`, false},
		{"a text as operation", `{"operation":"covia:write"}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := Check(t.Context(), decoded(t, tt.doc), nil); (err == nil) != tt.ok {
				t.Errorf("Check(%s) = %v, want ok %v", tt.doc, err, tt.ok)
			}
		})
	}
}

// Compile never panics, agrees with Check, and makes plans whose references
// all point backwards.
func FuzzCompile(f *testing.F) {
	f.Add(plan(`[{"op":"a:b","input":{"x":["concat","a",["input","b",0]]}},{"op":"a:b","name":"n","after":[0],"strict":true}]`, `{"r":[1,"x"],"c":["const",[]]}`))
	f.Add(plan(`[{"op":"a:b"},{"op":"a:b","input":[0,"x"]}]`, ""))
	f.Add(`{"operation":{"adapter":"orchestrator","input":{"type":"object","$defs":{"a":{}}},"steps":[{"op":"a:b"}]}}`)
	f.Add(`{"operation":{"adapter":"covia:write"}}`)
	f.Add(plan(`[]`, `[]`))
	f.Fuzz(func(t *testing.T, doc string) {
		p, err := Compile(t.Context(), "o/plan", json.RawMessage(doc), nil)
		if err != nil {
			return
		}
		if err := Check(t.Context(), decoded(t, doc), nil); err != nil {
			t.Fatalf("Compile takes %s and Check does not: %v", doc, err)
		}
		for n, s := range p.steps {
			if len(s.needs) > 0 && s.needs[len(s.needs)-1] >= n || len(s.needs) > 0 && s.needs[0] < 0 {
				t.Fatalf("step %d of %s waits for %v", n, doc, s.needs)
			}
		}
		if p.Operation(&book{}, tools.Bound{}).Path() != "o/plan" {
			t.Fatal("the operation is called otherwise")
		}
	})
}
