package jsonop

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/caps"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/ucan"
)

// gate returns a gate with the operations, and an authority of its own.
func gate(t *testing.T, held caps.Set) (*tools.Gate, tools.Authority) {
	t.Helper()
	key, err := ucan.KeyFromSeed(append(make([]byte, 31), 7))
	if err != nil {
		t.Fatal(err)
	}
	registry := new(tools.Registry)
	if err := registry.Register(Operations()...); err != nil {
		t.Fatal(err)
	}
	g, mint := toolstest.NewGate(registry, nil)
	return g, mint.Agent(key.DID(), "Ann", func() caps.Set { return held })
}

func TestOperations(t *testing.T) {
	tests := []struct{ name, op, input, want string }{
		{"later wins", "json:merge", `{"values":[{"a":1,"b":1},{"b":2}]}`, `{"a":1,"b":2}`},
		{"null deletes", "json:merge", `{"values":[{"a":1,"b":{"c":1,"d":2}},{"a":null,"b":{"c":null}}]}`, `{"b":{"d":2}}`},
		{"null deletes nothing", "json:merge", `{"values":[{"a":null,"b":{"c":null}}]}`, `{"b":{}}`},
		{"arrays are replaced", "json:merge", `{"values":[{"a":[1,2]},{"a":[3]}]}`, `{"a":[3]}`},
		{"object over scalar", "json:merge", `{"values":[{"a":1},{"a":{"b":null,"c":2}}]}`, `{"a":{"c":2}}`},
		{"nothing", "json:merge", `{"values":[]}`, `{}`},
		{"digits stay", "json:merge", `{"values":[{"a":12345678901234567890.10}]}`, `{"a":12345678901234567890.10}`},
		{"merge of a text", "json:merge", `{"values":[{},"x"]}`, "error: values[1] is a string: merge takes objects"},
		{"merge of null", "json:merge", `{"values":[null]}`, "error: values[0] is null: merge takes objects"},

		{"first that holds", "json:cond", `{"cases":[{"when":false,"then":1},{"when":null,"then":2},{"when":true,"then":3},{"when":true,"then":4}]}`, `3`},
		{"zero holds", "json:cond", `{"cases":[{"when":0,"then":"a"}]}`, `"a"`},
		{"empty text holds", "json:cond", `{"cases":[{"when":"","then":"a"}]}`, `"a"`},
		{"empty list holds", "json:cond", `{"cases":[{"when":[],"then":1.50}]}`, `1.50`},
		{"default", "json:cond", `{"cases":[{"when":false,"then":1}],"default":{"a":2}}`, `{"a":2}`},
		{"no default", "json:cond", `{"cases":[]}`, `null`},

		{"set", "json:assoc", `{"target":{"a":1},"path":"b","value":2}`, `{"a":1,"b":2}`},
		{"set in depth", "json:assoc", `{"target":{},"path":"a/b/c","value":1}`, `{"a":{"b":{"c":1}}}`},
		{"outer slashes", "json:assoc", `{"path":"/a/b/","value":1}`, `{"a":{"b":1}}`},
		{"array path", "json:assoc", `{"target":{},"path":["a/b",0],"value":1}`, `{"a/b":{"0":1}}`},
		{"array index", "json:assoc", `{"target":{"a":[1,{"b":2}]},"path":"a/1/b","value":3}`, `{"a":[1,{"b":3}]}`},
		{"array append", "json:assoc", `{"target":{"a":[1]},"path":["a",1],"value":2}`, `{"a":[1,2]}`},
		{"null on the way", "json:assoc", `{"target":{"a":null},"path":"a/b","value":1}`, `{"a":{"b":1}}`},
		{"no value", "json:assoc", `{"target":{"a":1},"path":"a"}`, `{"a":null}`},
		{"beyond the end", "json:assoc", `{"target":{"a":[1]},"path":"a/2","value":1}`, `error: a is an array of 1: "2" is no index of it; 0 to 1 are, the last one to append`},
		{"odd index", "json:assoc", `{"target":{"a":[1]},"path":"a/00","value":1}`, `error: a is an array of 1: "00" is no index of it; 0 to 1 are, the last one to append`},
		{"through a scalar", "json:assoc", `{"target":{"a":{"b":"x"}},"path":"a/b/c","value":1}`, `error: a/b is a string and holds no "c": set a value there first, or choose another path`},
		{"list as target", "json:assoc", `{"target":[],"path":"a","value":1}`, "error: target is an array: give an object"},
		{"empty path", "json:assoc", `{"path":"","value":1}`, `error: path "" has an empty segment: write a/b, or an array of keys`},
		{"empty segment", "json:assoc", `{"path":"a//b","value":1}`, `error: path "a//b" has an empty segment: write a/b, or an array of keys`},
		{"empty array path", "json:assoc", `{"path":[],"value":1}`, "error: path is empty: name at least one key"},
		{"path of objects", "json:assoc", `{"path":["a",{}],"value":1}`, "error: path[1] is an object: a path is made of keys and indexes"},
		{"path is a number", "json:assoc", `{"path":1,"value":1}`, "error: path is a number: write a text such as a/b, or an array of keys and indexes"},

		{"select", "json:select", `{"key":"b","cases":{"a":1,"b":{"c":2}}}`, `{"c":2}`},
		{"select null", "json:select", `{"key":"a","cases":{"a":null},"default":1}`, `null`},
		{"select default", "json:select", `{"key":"x","cases":{"a":1},"default":2}`, `2`},
		{"select nothing", "json:select", `{"key":"x","cases":{}}`, `null`},
	}
	g, auth := gate(t, caps.Of(caps.MustCapability("", "invoke")))
	for _, tt := range tests {
		t.Run(tt.op+" "+tt.name, func(t *testing.T) {
			got, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: tt.op, Input: json.RawMessage(tt.input)})
			var out result
			if err == nil {
				err = json.Unmarshal(got.Output, &out)
			}
			text := string(out.Result)
			if err != nil {
				text = "error: " + err.Error()
			}
			if text != tt.want {
				t.Errorf("%s(%s)\n got %s\nwant %s", tt.op, tt.input, text, tt.want)
			}
		})
	}
}

func TestInvalidInput(t *testing.T) {
	g, auth := gate(t, caps.Unrestricted())
	for _, tt := range []struct{ op, input string }{
		{"json:merge", `{}`},
		{"json:merge", `{"values":{}}`},
		{"json:cond", `{"cases":[{"when":1}]}`},
		{"json:cond", `{"cases":[{"when":1,"then":1,"else":2}]}`},
		{"json:assoc", `{"target":{}}`},
		{"json:select", `{"cases":{}}`},
		{"json:select", `{"key":1,"cases":{}}`},
	} {
		_, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: tt.op, Input: json.RawMessage(tt.input)})
		var input *tools.InputError
		if !errors.As(err, &input) {
			t.Errorf("%s(%s) = %v, want an input error", tt.op, tt.input, err)
		}
	}
}

func TestNeedsInvoke(t *testing.T) {
	for _, tt := range []struct {
		held    caps.Set
		allowed bool
	}{
		{caps.Of(caps.MustCapability("w/", "invoke")), true},
		{caps.Of(caps.MustCapability("w/", "crud")), false},
		{caps.Of(), false},
	} {
		g, auth := gate(t, tt.held)
		for _, op := range Operations() {
			if got := op.CouldAllow(tt.held); got != tt.allowed {
				t.Errorf("%s with %s: CouldAllow = %v, want %v", op.Name(), tt.held, got, tt.allowed)
			}
		}
		_, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: "json:merge", Input: json.RawMessage(`{"values":[]}`)})
		var denial *caps.Denial
		if errors.As(err, &denial) == tt.allowed {
			t.Errorf("json:merge with %s = %v, allowed should be %v", tt.held, err, tt.allowed)
		}
	}
}

// Merging is associative in its patches: applying two one after the other is
// applying both, and applying one twice is applying it once.
func TestPatchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := object(3)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		once := patch(patch(map[string]any{}, clone(t, a)), clone(t, b))
		twice := patch(clone(t, once), clone(t, b))
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Fatalf("a second time changes it (-once +twice)\n%s", diff)
		}
		if hasNull(once) {
			t.Fatalf("a null is left in %v", once)
		}
	})
}

func object(depth int) *rapid.Generator[map[string]any] {
	value := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.SampledFrom([]any{"x", "y"}))
	if depth > 0 {
		value = rapid.OneOf(value, object(depth-1).AsAny())
	}
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), value, 0, 3)
}

func clone(t *rapid.T, v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	c, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hasNull(v any) bool {
	fields, ok := v.(map[string]any)
	for _, field := range fields {
		if hasNull(field) {
			return true
		}
	}
	return !ok && v == nil
}
