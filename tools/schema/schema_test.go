package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/caps/value"
)

const invoice = `{
	"type": "object",
	"required": ["id", "lines"],
	"additionalProperties": false,
	"properties": {
		"id": {"type": "string", "pattern": "^INV-[0-9]+$"},
		"state": {"enum": ["open", "paid"]},
		"lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/line"}},
		"note key": {"type": ["string", "null"]}
	},
	"$defs": {"line": {
		"type": "object",
		"required": ["amount"],
		"properties": {"amount": {"type": "number", "minimum": 0}, "count": {"type": "integer"}}
	}}
}`

func TestValidate(t *testing.T) {
	tests := []struct{ name, schema, value, want string }{
		{"fits", invoice, `{"id":"INV-1","lines":[{"amount":1.5}]}`, ""},
		{"nested place", invoice, `{"id":"INV-1","lines":[{"amount":1},{"amount":1},{"amount":"1"}]}`, "lines[2].amount: expected number, got string"},
		{"missing", invoice, `{"lines":[{}]}`, "id: required, but missing; lines[0].amount: required, but missing"},
		{"unknown field", invoice, `{"id":"INV-1","lines":[{"amount":1}],"stat":1}`, "stat: not a field that the schema allows"},
		{"pattern", invoice, `{"id":"x","lines":[{"amount":1}]}`, `id: "x" does not match the pattern ^INV-[0-9]+$`},
		{"enum", invoice, `{"id":"INV-1","state":"gone","lines":[{"amount":1}]}`, `state: expected one of "open", "paid", got "gone"`},
		{"quoted key", invoice, `{"id":"INV-1","note key":1,"lines":[{"amount":1}]}`, `["note key"]: expected null or string, got number`},
		{"minimum", invoice, `{"id":"INV-1","lines":[{"amount":-2}]}`, "lines[0].amount: expected at least 0, got -2"},
		{"fraction", invoice, `{"id":"INV-1","lines":[{"amount":1,"count":1.5}]}`, "lines[0].count: expected integer, got a number with a fraction"},
		{"whole", invoice, `[]`, "expected object, got array"},
		{"types of alternatives", `{"anyOf":[{"type":"string"},{"type":"number"}]}`, `true`, "expected string or number, got boolean"},
		{"closest alternative", `{"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]}`, `{}`, "a: required, but missing"},
		{"two alternatives fit", `{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, "fits the alternatives 1 and 2, where exactly one may fit"},
		{"not", `{"not":{"type":"null"}}`, `null`, "fits what the schema excludes"},
		{"unique", `{"uniqueItems":true}`, `[1,2,1.0]`, "items 0 and 2 are equal, where each must differ"},
		{"property name", `{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, `the field name "abc" is not allowed`},
		{"false", `false`, `1`, "no value is allowed here"},
		{"exact numbers", `{"maximum":9007199254740992}`, `9007199254740993`, "expected at most 9007199254740992, got 9007199254740993"},
		{"index order", `{"items":{"type":"null"}}`, `[null,null,1,null,null,null,null,null,null,null,1]`, "[2]: expected null, got number; [10]: expected null, got number"},
		{"many", `{"items":{"type":"null"}}`, `[1,1,1,1,1,1,1,1,1,1]`, "[0]: expected null, got number; [1]: expected null, got number; [2]: expected null, got number; [3]: expected null, got number; [4]: expected null, got number; [5]: expected null, got number; [6]: expected null, got number; [7]: expected null, got number; and 2 more"},
		{"not JSON", `true`, `{`, "malformed JSON at byte 1: unexpected end of JSON input"},
		{"two values", `true`, `1 2`, "malformed JSON at byte 3: invalid character '2' after top-level value"},
		{"empty", `true`, ``, "malformed JSON at byte 0: unexpected end of JSON input"},
		{"vast number", `{"minimum":1}`, `1e1000000`, "the number 1e1000000 is out of range: exponents go from -400 to 400"},
		{"circular", `{"$ref":"#"}`, `1`, errCircular.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Compile(t.Context(), json.RawMessage(tt.schema), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(s.Validate(t.Context(), json.RawMessage(tt.value), nil)); got != tt.want {
				t.Errorf("Validate(%s)\n got %s\nwant %s", tt.value, got, tt.want)
			}
		})
	}
}

func TestDeepValuesAreRefused(t *testing.T) {
	s, err := Compile(t.Context(), json.RawMessage(`true`), nil)
	if err != nil {
		t.Fatal(err)
	}
	deep := json.RawMessage(strings.Repeat("[", maxValueDepth+1) + strings.Repeat("]", maxValueDepth+1))
	if err := s.Validate(t.Context(), deep, nil); !errors.Is(err, value.ErrTooDeep) {
		t.Errorf("Validate = %.100v, want %v", err, value.ErrTooDeep)
	}
}

func TestCompileRefuses(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"a list", `[]`, `schema: expected boolean or object, got array`},
		{"null", `null`, `schema: expected boolean or object, got null`},
		{"empty", ``, "schema: malformed JSON at byte 0: unexpected end of JSON input"},
		{"unknown type", `{"type":"sting"}`, `schema: type: expected one of "array", "boolean", "integer", "null", "number", "object", "string", got "sting"`},
		{"web", `{"$ref":"https://example.com/s.json"}`, `schema: it refers to "https://example.com/s.json", which is not part of it: copy what it needs below $defs and write #/$defs/<name>`},
		{"file", `{"$ref":"file:///etc/passwd"}`, `schema: it refers to "file:///etc/passwd", which is not part of it: copy what it needs below $defs and write #/$defs/<name>`},
		{"relative", `{"$id":"file:///etc/x","$ref":"passwd"}`, `schema: it refers to "file:///etc/passwd", which is not part of it: copy what it needs below $defs and write #/$defs/<name>`},
		{"sibling", `{"$ref":"other.json"}`, `schema: it refers to "other.json", which is not part of it: copy what it needs below $defs and write #/$defs/<name>`},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#"}`, `schema: it is written for "http://json-schema.org/draft-04/schema#", which is not known: leave $schema out, or write "https://json-schema.org/draft/2020-12/schema"`},
		{"too deep", strings.Repeat(`{"not":`, 70) + "true" + strings.Repeat("}", 70), "schema: not" + strings.Repeat(".not", 63) + ": nested too deep: write its parts apart"},
		{"too large", `"` + strings.Repeat("x", maxBytes) + `"`, "schema of 262146 bytes is larger than 262144: make it smaller"},
		{"vast number", `{"minimum":1e999999}`, "schema: the number 1e999999 is out of range: exponents go from -400 to 400"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile(t.Context(), json.RawMessage(tt.schema), nil)
			if got := text(err); got != tt.want {
				t.Errorf("Compile\n got %s\nwant %s", got, tt.want)
			}
		})
	}
	for name, doc := range map[string]string{
		"missing definition": `{"$ref":"#/$defs/none"}`,
		"dynamic reference":  `{"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a"}}}`,
		"metaschema":         `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
		"look-ahead":         `{"pattern":"(?=a)"}`,
		"large pattern":      `{"pattern":"(a{900}|b{900}){1}(c{900}|d{900})(e{900}|f{900})(g{900})"}`,
	} {
		if _, err := Compile(t.Context(), json.RawMessage(doc), nil); err == nil {
			t.Errorf("%s: Compile(t.Context(), %s, nil) succeeded, want an error", name, doc)
		}
	}
}

// A file that is there and a schema is not read either.
func TestNothingIsLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(path, []byte(`true`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"file://" + path, path} {
		if _, err := Compile(t.Context(), json.RawMessage(`{"$ref":"`+ref+`"}`), nil); err == nil || !strings.Contains(err.Error(), "which is not part of it") {
			t.Errorf("Compile with $ref %s = %v, want a refusal", ref, err)
		}
	}
}

// A schema of a few lines must not be able to cost more than the limit.
func TestHostileSchemas(t *testing.T) {
	var doubling strings.Builder
	doubling.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&doubling, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	doubling.WriteString(`"a60":true}}`)
	many := ""
	for i := range 2000 {
		many += fmt.Sprintf(`"f%d":[],`, i)
	}
	tests := []struct{ name, schema, value string }{
		{"doubling references", doubling.String(), `1`},
		{"doubling by depth", `{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, strings.Repeat(`{"x":`, 200) + "1" + strings.Repeat("}", 200)},
		{"long text", `{"allOf":[` + strings.Repeat(`{"pattern":"(a|b|c)*(x{500})$"},`, 50) + `true]}`, `"` + strings.Repeat("abc", 100_000) + `"`},
		{"long text counted often", `{"allOf":[` + strings.Repeat(`{"minLength":1},`, 1000) + `true]}`, `"` + strings.Repeat("abc", 100_000) + `"`},
		{"many conditions", `{"items":{"dependentRequired":{` + many + `"x":[]}}}`, "[" + strings.Repeat("{},", 1000) + "1]"},
		{"large constants", `{"allOf":[` + strings.Repeat(`{"const":1},`, 2000) + `true]}`, "[" + strings.Repeat("[],", 1000) + "1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Compile(t.Context(), json.RawMessage(tt.schema), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(t.Context(), json.RawMessage(tt.value), nil); !errors.Is(err, errTooCostly) {
				t.Errorf("Validate = %v, want %v", err, errTooCostly)
			}
		})
	}
}

// What recurses once a level is no matter how deep.
func TestDeepRecursionIsCheap(t *testing.T) {
	s, err := Compile(t.Context(), json.RawMessage(`{"properties":{"a":{"$ref":"#"}},"additionalProperties":{"$ref":"#"},"unevaluatedProperties":{"$ref":"#"},"prefixItems":[{"$ref":"#"}],"items":{"$ref":"#"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat(`{"a":[`, 120) + "1" + strings.Repeat("]}", 120)
	if err := s.Validate(t.Context(), json.RawMessage(deep), nil); err != nil {
		t.Errorf("Validate = %v", err)
	}
}

func TestCoerce(t *testing.T) {
	tests := []struct{ name, schema, value, want string }{
		{"string to number", `{"type":"number"}`, `"1.50"`, `1.50`},
		{"string to integer", `{"type":"integer"}`, `" 7 "`, `7`},
		{"string to boolean", `{"type":"boolean"}`, `"true"`, `true`},
		{"number to string", `{"type":"string"}`, `1.50`, `"1.50"`},
		{"boolean to string", `{"type":"string"}`, `false`, `"false"`},
		{"scalar to array", `{"type":"array","items":{"type":"integer"}}`, `"5"`, `[5]`},
		{"large number keeps its digits", `{"type":"number"}`, `"12345678901234567890.123"`, `12345678901234567890.123`},
		{"defaults", `{"properties":{"a":{"default":1},"b":{"$ref":"#/$defs/b"}},"$defs":{"b":{"default":[2]}}}`, `{}`, `{"a":1,"b":[2]}`},
		{"default is coerced", `{"properties":{"a":{"type":"string","default":1}}}`, `{}`, `{"a":"1"}`},
		{"absent value", `{"default":{"a":1}}`, ``, `{"a":1}`},
		{"nested", `{"properties":{"a":{"items":{"properties":{"n":{"type":"number"}}}}}}`, `{"a":[{"n":"1"}]}`, `{"a":[{"n":1}]}`},
		{"what fits stays", `{"type":["string","number"]}`, `"1"`, `"1"`},
		{"alternative that fits", `{"anyOf":[{"type":"number"},{"type":"string"}]}`, `"1"`, `"1"`},
		{"alternative that can fit", `{"anyOf":[{"type":"object"},{"type":"number"}]}`, `"1"`, `1`},
		{"additional", `{"additionalProperties":{"type":"number"}}`, `{"x":"1"}`, `{"x":1}`},
		{"pattern", `{"patternProperties":{"^n":{"type":"number"}},"additionalProperties":{"type":"string"}}`, `{"n":"1","s":2}`, `{"n":1,"s":"2"}`},
		{"tuple", `{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, `[1,"2","3"]`, `["1",2,3]`},
		{"draft 7 tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":{"type":"number"}}`, `[1,"2"]`, `["1",2]`},
		{"no HTML escapes", `true`, `"<a&b>"`, `"<a&b>"`},
		{"not a number", `{"type":"number"}`, `"abc"`, `error: expected number, got string`},
		{"not hexadecimal", `{"type":"number"}`, `"0x10"`, `error: expected number, got string`},
		{"bound still holds", `{"type":"number","maximum":1}`, `"2"`, `error: expected at most 1, got 2`},
		{"endless default", `{"properties":{"a":{"$ref":"#","default":{}}}}`, `{}`, "error: it is nested too deeply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Compile(t.Context(), json.RawMessage(tt.schema), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Coerce(t.Context(), json.RawMessage(tt.value), nil)
			if err != nil {
				if want, ok := strings.CutPrefix(tt.want, "error: "); !ok || !strings.Contains(err.Error(), want) {
					t.Fatalf("Coerce(%s) = %v, want %s", tt.value, err, tt.want)
				}
				return
			}
			if string(got) != tt.want {
				t.Errorf("Coerce(%s) = %s, want %s", tt.value, got, tt.want)
			}
		})
	}
}

func TestInfer(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"integer", `1`, `{"type":"integer"}`},
		{"number", `1.0`, `{"type":"number"}`},
		{"null", `null`, `{"type":"null"}`},
		{"empty array", `[]`, `{"type":"array"}`},
		{"mixed array", `[1,"a",2.5,null]`, `{"items":{"type":["null","number","string"]},"type":"array"}`},
		{"objects merge", `[{"a":1,"b":2},{"a":1.5}]`, `{"items":{"properties":{"a":{"type":"number"},"b":{"type":"integer"}},"required":["a"],"type":"object"},"type":"array"}`},
		{"no object lacks it", `[1,{"a":1}]`, `{"items":{"properties":{"a":{"type":"integer"}},"required":["a"],"type":["integer","object"]},"type":"array"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Infer(t.Context(), json.RawMessage(tt.value), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Infer(%s) (-want +got)\n%s", tt.value, diff)
			}
		})
	}
}

// Whatever is inferred fits what it was inferred from, and coercion leaves it alone.
func TestInferredSchemaFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value, err := json.Marshal(anyValue(4).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := Infer(t.Context(), value, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Compile(t.Context(), doc, nil)
		if err != nil {
			t.Fatalf("Compile(t.Context(), %s, nil) = %v", doc, err)
		}
		if err := s.Validate(t.Context(), value, nil); err != nil {
			t.Fatalf("%s does not fit %s: %v", value, doc, err)
		}
		same, err := s.Coerce(t.Context(), value, nil)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(value, &a) != nil || json.Unmarshal(same, &b) != nil || !cmp.Equal(a, b) {
			t.Fatalf("Coerce changed %s to %s", value, same)
		}
	})
}

func anyValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.StringN(0, 5, 20).AsAny(),
		rapid.IntRange(-1000, 1000).AsAny(),
		rapid.Float64Range(-10, 10).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(append(scalars,
			rapid.SliceOfN(anyValue(depth-1), 0, 4).AsAny(),
			rapid.MapOfN(rapid.StringN(0, 3, 12), anyValue(depth-1), 0, 4).AsAny())...)
	})
}

func TestJSON(t *testing.T) {
	s, err := Compile(t.Context(), json.RawMessage("{ \"type\" :\n\"string\" }"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.JSON()), `{"type":"string"}`; got != want {
		t.Errorf("JSON() = %s, want %s", got, want)
	}
}

// TestPassedBy: fields and items that no schema speaks of are paid for, as are
// properties that have no default.
func TestPassedBy(t *testing.T) {
	ctx, one := t.Context(), "1"+strings.Repeat(",1", 100_000)
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprintf("%q:{}", strconv.Itoa(i)))
	}
	properties := "{" + strings.Join(names, ",") + "}"
	anything := `{"anyOf":[{}` + strings.Repeat(",{}", 200) + `]}`
	for name, run := range map[string]func(charge Charge) error{
		"items": func(charge Charge) error {
			return compiled(t, anything).Validate(ctx, json.RawMessage("["+one+"]"), charge)
		},
		"fields": func(charge Charge) error {
			return compiled(t, anything).Validate(ctx, json.RawMessage(properties), charge)
		},
		"properties": func(charge Charge) error {
			_, err := compiled(t, `{"items":{"properties":`+properties+`}}`).Coerce(ctx, json.RawMessage(`[{}`+strings.Repeat(",{}", 200)+`]`), charge)
			return err
		},
	} {
		var paid int64
		err := run(func(_ context.Context, steps, _ int64) error { paid += steps; return nil })
		if paid < 1000 {
			t.Errorf("%s: %d steps are paid, %v, want many", name, paid, err)
		}
	}
}

func compiled(t *testing.T, doc string) *Schema {
	t.Helper()
	s, err := Compile(t.Context(), json.RawMessage(doc), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func FuzzCompile(f *testing.F) {
	f.Add(invoice, `{"id":"INV-1","lines":[{"amount":"1"}]}`)
	f.Add(`{"$ref":"#/properties/a","properties":{"a":{"$id":"x","anyOf":[{},true]}}}`, `{"a":[1e5]}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"$ref":"#"}],"dependencies":{"a":["b"]}}`, `[[1],{"a":1}]`)
	f.Add(`{"uniqueItems":true,"contains":{"const":1},"minContains":2,"unevaluatedItems":false}`, `[1,1e0,"1"]`)
	f.Add(`{"if":{"required":["a"]},"then":{"unevaluatedProperties":false},"dependentSchemas":{"a":{"not":{}}}}`, `{"a":1,"":{}}`)
	f.Fuzz(func(t *testing.T, doc, value string) {
		s, err := Compile(t.Context(), json.RawMessage(doc), nil)
		if err != nil {
			return
		}
		again, err := Compile(t.Context(), s.JSON(), nil)
		if err != nil || string(again.JSON()) != string(s.JSON()) {
			t.Fatalf("Compile(t.Context(), %s, nil) does not take its own JSON back: %v", doc, err)
		}
		fits := s.Validate(t.Context(), json.RawMessage(value), nil)
		if made, err := s.Coerce(t.Context(), json.RawMessage(value), nil); err == nil {
			if err := s.Validate(t.Context(), made, nil); err != nil {
				t.Fatalf("Coerce(%s) gave %s, which does not fit: %v", value, made, err)
			}
		}
		if text(fits) != text(again.Validate(t.Context(), json.RawMessage(value), nil)) {
			t.Fatalf("Validate(%s) differs between two runs", value)
		}
	})
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
