package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
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
	seen := fields{names: make([]string, 0, 8)}
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
				if len(seen.names) == maxFields {
					return fmt.Errorf("the input has more than %d fields", maxFields)
				}
				if !seen.add(key) {
					return fmt.Errorf("the input has the field %.100q twice: send it once", key)
				}
			}
			i = end - 1
		}
	}
	return nil
}

// fields are the names of the top keys of an input: a few are compared with each
// other, many by their folded forms, so that long names cost no more than reading them.
type fields struct {
	names  []string
	folded map[string]bool // nil while they are few
}

// maxCompared bounds the names that are compared with each other.
const maxCompared = 16

// add reports whether the name is new, in whatever case.
func (f *fields) add(name string) bool {
	if len(f.names) < maxCompared {
		if slices.ContainsFunc(f.names, func(other string) bool { return strings.EqualFold(other, name) }) {
			return false
		}
		f.names = append(f.names, name)
		return true
	}
	if f.folded == nil {
		f.folded = make(map[string]bool)
		for _, other := range f.names {
			f.folded[fold(other)] = true
		}
	}
	key := fold(name)
	if f.folded[key] {
		return false
	}
	f.folded[key], f.names = true, append(f.names, name)
	return true
}

// fold returns the same text for all that [strings.EqualFold] takes to be equal.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s)
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
