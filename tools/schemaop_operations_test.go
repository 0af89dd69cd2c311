package tools_test

import (
	"encoding/json"
	"errors"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/tools/schema"
	"usher/tools/schemaop"
	"usher/tools/toolstest"
	"usher/ucan"
)

func invokeAs(t *testing.T, held caps.Set, op, input string) (json.RawMessage, error) {
	t.Helper()
	key, err := ucan.KeyFromSeed(append(make([]byte, 31), 7))
	if err != nil {
		t.Fatal(err)
	}
	registry := new(tools.Registry)
	if err := registry.Register(schemaop.Operations()...); err != nil {
		t.Fatal(err)
	}
	g, mint := toolstest.NewGate(registry, nil)
	auth := mint.Agent(key.DID(), "Ann", func() caps.Set { return held })
	result, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: op, Input: json.RawMessage(input)})
	return result.Output, err
}

func TestSchemaopOperations(t *testing.T) {
	tests := []struct{ name, op, input, want string }{
		{"fits", "schema:validate", `{"schema":{"type":"number"},"value":1}`, `{"valid":true}`},
		{"does not fit", "schema:validate", `{"schema":{"type":"number"},"value":"1"}`, `{"valid":false,"error":"expected number, got string"}`},
		{"absent value is null", "schema:validate", `{"schema":{"type":"null"}}`, `{"valid":true}`},
		{"null value", "schema:validate", `{"schema":{"type":"null"},"value":null}`, `{"valid":true}`},
		{"false as schema", "schema:validate", `{"schema":false,"value":null}`, `{"valid":false,"error":"no value is allowed here"}`},
		{"bad schema", "schema:validate", `{"schema":[],"value":1}`, `error: schema: expected boolean or object, got array`},
		{"all fits", "schema:validateAll", `{"schema":{},"value":1}`, `{"valid":true,"errors":[]}`},
		{"all of it", "schema:validateAll", `{"schema":{"items":{"type":"null"}},"value":[1,null,2]}`, `{"valid":false,"errors":["[0]: expected null, got number","[2]: expected null, got number"]}`},
		{"infer", "schema:infer", `{"value":[1,2]}`, `{"schema":{"items":{"type":"integer"},"type":"array"}}`},
		{"coerce", "schema:coerce", `{"schema":{"type":"array","items":{"type":"number"}},"value":"1.50"}`, `{"value":[1.50]}`},
		{"cannot coerce", "schema:coerce", `{"schema":{"type":"number"},"value":"x"}`, `error: expected number, got string`},
		{"check", "schema:check", `{"schema":{"type":"string"}}`, `{"valid":true}`},
		{"check finds", "schema:check", `{"schema":{"$ref":"http://x/y"}}`, `{"valid":false,"error":"schema: it refers to \"http://x/y\", which is not part of it: copy what it needs below $defs and write #/$defs/<name>"}`},
	}
	outputs := make(map[string]*schema.Schema)
	for _, op := range schemaop.Operations() {
		s, err := schema.Compile(t.Context(), op.OutputSchema(), nil)
		if err != nil {
			t.Fatal(err)
		}
		outputs[op.Name()] = s
	}
	held := caps.Of(caps.MustCapability("w/notes", "invoke"))
	for _, tt := range tests {
		t.Run(tt.op+" "+tt.name, func(t *testing.T) {
			out, err := invokeAs(t, held, tt.op, tt.input)
			got := string(out)
			if err != nil {
				got = "error: " + err.Error()
			} else if err := outputs[tt.op].Validate(t.Context(), out, nil); err != nil {
				t.Errorf("%s does not fit the output schema: %v", out, err)
			}
			if got != tt.want {
				t.Errorf("%s(%s)\n got %s\nwant %s", tt.op, tt.input, got, tt.want)
			}
		})
	}
}

func TestOperationsNeedInvoke(t *testing.T) {
	for _, op := range schemaop.Operations() {
		_, err := invokeAs(t, caps.Of(caps.MustCapability("", "crud")), op.Name(), `{"schema":{},"value":1}`)
		var denial *caps.Denial
		if !errors.As(err, &denial) || denial.Ability != "invoke" {
			t.Errorf("%s without invoke = %v, want a denial", op.Name(), err)
		}
	}
	var input *tools.InputError
	if _, err := invokeAs(t, caps.Unrestricted(), "schema:validate", `{"value":1}`); !errors.As(err, &input) {
		t.Errorf("schema:validate without a schema = %v, want an input error", err)
	}
}
