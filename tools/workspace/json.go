package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds how deep the values of one write nest. Reading a value opens one scan for each
// level, so there must be a bound; the JSON of people and models stays far below it.
const maxDepth = 128

// normal turns a Go value into maps, arrays, strings, json.Number, bool and nil. Raw JSON is
// parsed; anything else goes through encoding/json.
func normal(value any) (any, error) {
	raw, isRaw := value.(json.RawMessage)
	if !isRaw {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("encode value: %w", err)
		}
	}
	v, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("parse value: %w", err)
	}
	if tooDeep(v, maxDepth) {
		return nil, fmt.Errorf("the value nests deeper than %d levels: write its parts under paths of their own", maxDepth)
	}
	return v, nil
}

// parse reads one JSON text and keeps the text of its numbers.
func parse(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

func tooDeep(v any, levels int) bool {
	if levels < 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, c := range v {
			if tooDeep(c, levels-1) {
				return true
			}
		}
	case []any:
		for _, c := range v {
			if tooDeep(c, levels-1) {
				return true
			}
		}
	}
	return false
}

// appendJSON encodes a normal value: compact, keys sorted, nothing escaped that need not be.
func appendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, c := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, c)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, k), ':')
			dst = appendJSON(dst, v[k])
		}
		return append(dst, '}')
	default:
		panic(fmt.Sprintf("workspace: %T is not a normal value", v)) // a fault of this package
	}
}

func appendString(dst []byte, s string) []byte {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= 0x20 && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return append(append(append(dst, '"'), s...), '"')
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // cannot fail: a string into memory
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}
