package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"usher/caps/value"
)

// maxFields bounds the top keys of an input.
const maxFields = 1000

// CheckObject refuses input that is not one JSON object with each top key
// once, in whatever case: of two keys of one name, a check and a handler could
// see either.
func CheckObject(raw json.RawMessage) error {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(raw) {
		return errors.New("the input is not a JSON object: send one, for example {}")
	}
	seen := make(map[string]bool, 8)
	depth, before := 0, byte(0) // the colon or comma before a text
	for i := 0; i < len(trimmed); i++ {
		switch c := trimmed[i]; c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ':', ',':
			before = c
		case '"':
			end := stringEnd(trimmed, i)
			if depth == 1 && before != ':' {
				key, err := unquote(trimmed[i:end])
				if err != nil {
					return err
				}
				if len(seen) == maxFields {
					return fmt.Errorf("the input has more than %d fields", maxFields)
				}
				name := value.Fold(key)
				if seen[name] {
					return fmt.Errorf("the input has the field %.100q twice: send it once", key)
				}
				seen[name] = true
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
		return fmt.Errorf("a JSON %s does not fit in %s: expected %s", typeErr.Value, typeErr.Field, jsonKind(typeErr.Type))
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

// Object takes a JSON object, or a JSON text that holds one: models often send
// objects so. Nothing is an empty object.
func Object(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
		raw = bytes.TrimSpace([]byte(text))
	}
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return nil, errors.New(`input is not a JSON object: send one, for example {"path":"w/notes"}`)
	}
	return raw, nil
}
