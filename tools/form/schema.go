package form

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Refiner is a form whose rules of its own the schema has too.
type Refiner interface{ Refine(s *jsonschema.Schema) }

// durationPattern is what [time.ParseDuration] takes, without a sign of less than nothing.
const durationPattern = `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`

// Schema is the JSON Schema of a form, made from its tags, as strict as [Decode]
// is in the style: in that of JSON, null and empty text are left out, and rules
// of its own are told by [Checker] alone. Nothing in it is shared.
func Schema(t reflect.Type, style Style) *jsonschema.Schema { return style.object(t) }

func (y Style) object(t reflect.Type) *jsonschema.Schema {
	l := layoutOf(t)
	out := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema), PropertyOrder: l.keys, Required: l.required}
	for _, m := range l.fields {
		p := y.value(t.FieldByIndex(m.Index).Type, m.Tag)
		p.Description = m.Tag.Get("jsonschema")
		out.Properties[m.Key] = p
	}
	if l.rest == nil {
		out.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	if l.text && y == JSON {
		out.Type, out.Types = "", []string{"object", "string", "null"}
	}
	if r, ok := reflect.New(t).Interface().(Refiner); ok && y == YAML {
		r.Refine(out)
	}
	return out
}

// value is the schema of a field's type, as its tags narrow it.
func (y Style) value(t reflect.Type, tag reflect.StructTag) *jsonschema.Schema {
	kind := tag.Get("kind")
	switch {
	case t.Kind() == reflect.Pointer:
		return y.value(t.Elem(), tag)
	case t == declaredType:
		return &jsonschema.Schema{Types: []string{"array", "null"}, Items: y.object(reflect.TypeFor[capability]())}
	case t == durationType:
		return &jsonschema.Schema{Type: "string", Pattern: durationPattern}
	case kind == "number" && tag.Get("min") == "0":
		return &jsonschema.Schema{Type: kind, Minimum: new(0.0)}
	case kind == "number":
		return &jsonschema.Schema{Type: kind, ExclusiveMinimum: new(0.0)}
	case t == rawType:
		return &jsonschema.Schema{Type: kind}
	case Is(t) || tag.Get("form") != "":
		out := y.object(t)
		if tag.Get("required") == "*" {
			out.MinProperties = new(1)
		}
		if tag.Get("on") != "" {
			out.Type, out.Types = "", []string{"boolean", "object"}
		}
		return out
	case t.Kind() == reflect.String:
		return y.text(tag)
	case t.Kind() == reflect.Bool:
		return y.orNull("boolean")
	case tag.Get("unit") == "bytes":
		return &jsonschema.Schema{Types: []string{"string", "integer"}, Pattern: sizeForm().String(), Minimum: new(1.0)}
	case reflect.Zero(t).CanFloat():
		return &jsonschema.Schema{Type: "number"}
	case reflect.Zero(t).CanInt():
		least := 1.0
		switch tag.Get("min") {
		case "0":
			least = 0
		case "any":
			return &jsonschema.Schema{Type: "integer"}
		}
		return &jsonschema.Schema{Type: "integer", Minimum: &least}
	case t.Kind() == reflect.Slice:
		out := y.orNull("array")
		out.Items = y.value(t.Elem(), tag)
		return out
	case t.Kind() == reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: y.value(t.Elem(), "")}
	}
	return &jsonschema.Schema{}
}

// orNull is a type that may be left out by null where the style takes that.
func (y Style) orNull(kind string) *jsonschema.Schema {
	if y == JSON {
		return &jsonschema.Schema{Types: []string{kind, "null"}}
	}
	return &jsonschema.Schema{Type: kind}
}

func (y Style) text(tag reflect.StructTag) *jsonschema.Schema {
	if tag.Get("empty") != "" {
		return &jsonschema.Schema{Type: "string"}
	}
	out := y.orNull("string")
	if y == JSON {
		out.Pattern = `^$|\S` // an empty text is left out, one of spaces is a slip
		return out
	}
	out.Pattern = cmp.Or(tag.Get("pattern"), `\S`)
	if enum := tag.Get("enum"); enum != "" {
		out.Pattern = ""
		for e := range strings.SplitSeq(enum, "|") {
			out.Enum = append(out.Enum, e)
		}
	}
	return out
}

// OneOf is the rule that exactly one of the keys stands in an object.
func OneOf(keys ...string) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	for _, key := range keys {
		out = append(out, &jsonschema.Schema{Required: []string{key}})
	}
	return out
}
