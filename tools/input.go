package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/caps"
	"usher/tools/form"
	"usher/tools/spend"
)

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
	reflect.TypeFor[caps.Capability](): {
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"with": {Type: "string", Description: "resource: a path, and all below it"},
			"can":  {Type: "string", Description: "ability, for example crud/read"},
		},
		Required: []string{"with", "can"},
	},
	reflect.TypeFor[caps.Declared](): {
		Types:       []string{"array", "null"},
		Description: "capabilities, a list of {with, can}; [] is none",
	},
	reflect.TypeFor[spend.Money](): {Type: "number", Description: "an amount of money with at most six decimal places"},
}

// schemaFor infers the schema of T; nil when T is any value.
func schemaFor[T any]() (*jsonschema.Schema, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]() {
		return nil, nil
	}
	types := maps.Clone(typeSchemas)
	addForms(types, t, map[reflect.Type]bool{})
	return jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: types})
}

// addForms describes the forms among the fields of a type by themselves.
func addForms(types map[reflect.Type]*jsonschema.Schema, t reflect.Type, seen map[reflect.Type]bool) {
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		addForms(types, t.Elem(), seen)
	case t.Kind() != reflect.Struct || types[t] != nil || seen[t]:
	case form.Is(t):
		types[t] = form.Schema(t, form.JSON)
	default:
		seen[t] = true
		for f := range t.Fields() {
			addForms(types, f.Type, seen)
		}
	}
}

func (o *Operation) inferSchemas(in, out func() (*jsonschema.Schema, error)) error {
	input, err := in()
	if err != nil {
		return fmt.Errorf("infer its input schema: %w", err)
	}
	output, err := out()
	if err != nil {
		return fmt.Errorf("infer its output schema: %w", err)
	}
	if input == nil || input.Type != "object" {
		return errors.New("its input is not a struct: tools take a JSON object")
	}
	o.schemas = sync.OnceValues(func() (schemas, error) { return resolve(input, output) })
	return nil
}

// schemas are those of an operation: the input's to validate by, and both as
// JSON. They are made when somebody asks for them first, since most commands ask
// for none.
type schemas struct {
	input             *jsonschema.Resolved
	inputJSON, output json.RawMessage
}

// schema makes the schemas; a faulty operation has none.
func (o *Operation) schema() (schemas, error) {
	if o.schemas == nil {
		return schemas{}, o.fault
	}
	return o.schemas()
}

func resolve(input, output *jsonschema.Schema) (s schemas, err error) {
	if input != nil {
		if s.inputJSON, err = json.Marshal(input); err != nil {
			return s, fmt.Errorf("encode its input schema: %w", err)
		}
		if s.input, err = input.Resolve(nil); err != nil {
			return s, fmt.Errorf("resolve its input schema: %w", err)
		}
	}
	if output != nil {
		if s.output, err = json.Marshal(output); err != nil {
			return s, fmt.Errorf("encode its output schema: %w", err)
		}
	}
	return s, nil
}

// maxFields bounds the top keys of an input, each of which is compared with the
// others.
const maxFields = 1000

// CheckObject refuses input that is not one JSON object with each top key
// once, in whatever case: of two keys of one name, a check and a handler could
// see either.
func CheckObject(raw json.RawMessage) error {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(raw) {
		return errors.New("the input is not a JSON object: send one, for example {}")
	}
	seen := make([]string, 0, 8)
	depth := 0
	for i := 0; i < len(trimmed); i++ {
		switch trimmed[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(trimmed, i)
			if depth == 1 && isKey(trimmed, end) {
				key, err := unquote(trimmed[i:end])
				if err != nil {
					return err
				}
				if len(seen) == maxFields {
					return fmt.Errorf("the input has more than %d fields", maxFields)
				}
				for _, other := range seen {
					if strings.EqualFold(other, key) {
						return fmt.Errorf("the input has the field %q twice: send it once", key)
					}
				}
				seen = append(seen, key)
			}
			i = end - 1
		}
	}
	return nil
}

// stringEnd returns the index after the JSON string that begins at i, in
// input that is known to be valid JSON.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func isKey(b []byte, i int) bool {
	for ; i < len(b); i++ {
		switch b[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return b[i] == ':'
		}
	}
	return false
}

func unquote(quoted []byte) (string, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return s, err
}

// decodeError says in the sender's words what encoding/json says in Go's.
func decodeError(err error) error {
	var typeErr *json.UnmarshalTypeError
	if errors.As(err, &typeErr) && typeErr.Field != "" {
		return fmt.Errorf("%s is a JSON %s, which does not fit here: expected %s", typeErr.Field, typeErr.Value, jsonKind(typeErr.Type))
	}
	return err
}

func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint64, reflect.Uint32:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	default:
		return "an object"
	}
}

// schemaError drops the validator's own framing and keeps what it found.
func schemaError(err error) error {
	text := err.Error()
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			break
		}
		where, what, ok := strings.Cut(rest, ": ")
		if !ok {
			break
		}
		text = what
		if field, ok := strings.CutPrefix(where, "/properties/"); ok && !strings.HasPrefix(what, "validating ") {
			text = field + ": " + what
		}
	}
	return errors.New(text)
}
