package tools

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/caps"
	"usher/tools/content"
	"usher/tools/form"
	"usher/tools/schema"
	"usher/tools/spend"
)

// schemas are those of an operation; a nil one takes any object, or any value.
type schemas struct{ input, output *schema.Schema }

// build returns the schemas; a faulty operation has none.
func (o *Operation) build() (schemas, error) {
	if o.schemas == nil {
		return schemas{}, o.fault
	}
	return o.schemas()
}

// typeSchemas describes the types that inference cannot know.
var typeSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[caps.Path](): {
		AnyOf: []*jsonschema.Schema{
			{Type: "string"},
			{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		},
		Description: "a path such as w/notes/today, or the array of its segments",
	},
	reflect.TypeFor[content.Block](): {Type: "object", Extra: map[string]any{content.Mark: true}},
	reflect.TypeFor[caps.Capability](): {
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"with": {Type: "string", Description: "resource: a path, and all below it"},
			"can":  {Type: "string", Description: "ability, for example crud/read"},
		},
		Required: []string{"with", "can"},
	},
	reflect.TypeFor[caps.Declaration](): {
		Types:       []string{"array", "null"},
		Description: "capabilities, a list of {with, can}; [] is none",
	},
	secretType: {Type: "string", Pattern: secretPattern, Description: "the handle of a secret: secret:NAME"},
	reflect.TypeFor[caps.Set](): {
		Types: []string{"array", "null"}, Description: "capabilities; null is unrestricted, [] nothing", Items: &jsonschema.Schema{Type: "object"},
	},
	reflect.TypeFor[spend.Money](): {Type: "number", Description: "an amount of money with at most six decimal places"},
}

// inferSchemas makes the schemas of a typed operation.
func inferSchemas[In, Out any]() (s schemas, err error) {
	if kind := reflect.TypeFor[In]().Kind(); kind != reflect.Struct && kind != reflect.Map {
		return s, errors.New("its input is not a struct: tools take a JSON object")
	}
	if s.input, err = inferSchema[In](); err != nil {
		return s, fmt.Errorf("infer its input schema: %w", err)
	}
	if s.output, err = inferSchema[Out](); err != nil {
		return s, fmt.Errorf("infer its output schema: %w", err)
	}
	return s, nil
}

// inferred are the schemas of types, which a program makes once for all its venues.
var inferred sync.Map // of *schema.Schema by reflect.Type

// inferSchema infers the schema of T; nil where T is any value.
func inferSchema[T any]() (*schema.Schema, error) {
	t := reflect.TypeFor[T]()
	if s, made := inferred.Load(t); made {
		return s.(*schema.Schema), nil
	}
	s, err := makeSchema(t)
	if err == nil {
		inferred.Store(t, s)
	}
	return s, err
}

func makeSchema(t reflect.Type) (*schema.Schema, error) {
	if t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]() {
		return nil, nil
	}
	types := maps.Clone(typeSchemas)
	addForms(types, t, map[reflect.Type]bool{})
	of, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	return schema.Compile(context.Background(), raw, nil)
}

// addForms describes the forms among the fields of a type by themselves, and those
// that are written as texts.
func addForms(types map[reflect.Type]*jsonschema.Schema, t reflect.Type, seen map[reflect.Type]bool) {
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		addForms(types, t.Elem(), seen)
	case t.Kind() != reflect.Struct || types[t] != nil || seen[t]:
	case form.Is(t):
		types[t] = form.Schema(t, form.JSON)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		types[t] = &jsonschema.Schema{Type: "string"}
	default:
		seen[t] = true
		for f := range t.Fields() {
			addForms(types, f.Type, seen)
		}
	}
}
