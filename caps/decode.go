package caps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// object is a decoded JSON object. Nothing but objects, lists and scalars come
// out of [decodeJSON], and of a YAML decoder.
type object = map[string]any

// maxNesting is how deep a value may nest. Capabilities need two.
const maxNesting = 8

// decodeJSON reads one JSON value. encoding/json lets duplicate keys pass and
// turns invalid UTF-8 into U+FFFD; here both are errors, the second in
// [ParseResource] at the latest.
func decodeJSON(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the JSON is not valid UTF-8: send it as UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	value, err := decodeValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more follows after the JSON value: send one value")
	}
	return value, nil
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("nested more than %d levels deep", maxNesting)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, malformed(err)
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			elem, err := decodeValue(dec, depth+1)
			if err != nil {
				return nil, indexed(depth, len(list), err)
			}
			list = append(list, elem)
		}
		_, err := dec.Token()
		return list, malformed(err)
	case json.Delim('{'):
		obj := object{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, malformed(err)
			}
			name := key.(string) // the decoder lets nothing else stand before a colon
			if _, twice := obj[name]; twice {
				return nil, fmt.Errorf("key %s stands twice: write it once", excerpt(name))
			}
			if obj[name], err = decodeValue(dec, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := dec.Token()
		return obj, malformed(err)
	}
	return token, nil
}

// indexed adds the index of an entry of the outermost list.
func indexed(depth, i int, err error) error {
	if depth > 0 {
		return err
	}
	return fmt.Errorf("[%d]: %w", i, err)
}

func malformed(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("malformed JSON: %w", err)
}

// toSet makes a set of a decoded value: null, or a list of {with, can}. Every
// other value is an error.
func toSet(value any) (Set, error) {
	if value == nil {
		return Unrestricted(), nil
	}
	entries, ok := value.([]any)
	if !ok {
		return Set{}, fmt.Errorf("caps is %s: write a list of {with, can}, [] for nothing, or null for no restriction", kindOf(value))
	}
	list := make([]Capability, len(entries))
	for i, entry := range entries {
		c, err := toCapability(entry)
		if err != nil {
			return Set{}, fmt.Errorf("caps[%d]: %w", i, err)
		}
		list[i] = c
	}
	return Of(list...), nil
}

func toCapability(value any) (Capability, error) {
	obj, ok := value.(object)
	if !ok {
		return Capability{}, fmt.Errorf(`a capability is {"with": …, "can": …}, not %s`, kindOf(value))
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if key != "with" && key != "can" {
			return Capability{}, fmt.Errorf(`unknown key %s: a capability has "with" and "can" only, in lower case`, excerpt(key))
		}
	}
	with, err := stringField(obj, "with")
	if err != nil {
		return Capability{}, err
	}
	can, err := stringField(obj, "can")
	if err != nil {
		return Capability{}, err
	}
	return NewCapability(with, can)
}

func stringField(obj object, key string) (string, error) {
	value, ok := obj[key]
	if !ok {
		return "", fmt.Errorf(`%q is missing: write both "with" and "can"`, key)
	}
	text, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("%q is %s: write a string", key, kindOf(value))
	}
	return text, nil
}

// kindOf names the type of a decoded value for an error message.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case object:
		return "an object"
	case json.Number, int, int64, uint64, float64:
		return "a number"
	case []byte:
		return "binary data"
	}
	return fmt.Sprintf("a %T", value)
}
