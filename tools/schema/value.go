package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	maxValueDepth = 256 // of nesting in a value
	maxDigits     = 1024
	maxExponent   = 400 // above that of any 64-bit float
)

var errTooDeep = errors.New("it is nested too deeply: make it flatter")

// decode reads one JSON value within bounds. Numbers are bounded because
// comparing them is exact: 1e1000000 would take a megabyte.
func decode(raw json.RawMessage, depth int) (any, error) {
	v, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return v, vet(v, depth)
}

// parse reads one JSON value and keeps the text of its numbers.
func parse(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty: send one JSON value")
		}
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is more than one JSON value: send one")
	}
	return v, nil
}

func vet(v any, depth int) error {
	if depth < 0 {
		return errTooDeep
	}
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			if err := vet(item, depth-1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := vet(item, depth-1); err != nil {
				return err
			}
		}
	case json.Number:
		return vetNumber(v.String())
	}
	return nil
}

func vetNumber(text string) error {
	if len(text) > maxDigits {
		return fmt.Errorf("a number of %d characters is too long: %d is the most", len(text), maxDigits)
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return nil
	}
	if e, err := strconv.Atoi(text[at+1:]); err != nil || e > maxExponent || e < -maxExponent {
		return fmt.Errorf("the number %s is out of range: exponents go from -%d to %d", text, maxExponent, maxExponent)
	}
	return nil
}

// encode writes a decoded value back, numbers as they were.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// kindOf names the JSON type of a decoded value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return "number"
	}
}

func article(v any) string {
	switch kind := kindOf(v); kind {
	case "null":
		return kind
	case "array", "object":
		return "an " + kind
	default:
		return "a " + kind
	}
}

// keyOf is the same text for values that are equal as JSON, and for no others.
func keyOf(v any) string {
	var b strings.Builder
	writeKey(&b, v)
	return b.String()
}

func writeKey(b *strings.Builder, v any) {
	switch v := v.(type) {
	case json.Number:
		b.WriteString(ratOf(v).RatString())
	case string:
		b.WriteString(strconv.Quote(v))
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeKey(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(key) + ":")
			writeKey(b, v[key])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	default:
		fmt.Fprint(b, v)
	}
}

func listed(values []any) string {
	const most = 12
	var parts []string
	for i, v := range values {
		if i == most {
			parts = append(parts, fmt.Sprintf("… (%d in all)", len(values)))
			break
		}
		parts = append(parts, short(v))
	}
	return strings.Join(parts, ", ")
}

// short prints a value as JSON, cut where it is long.
func short(v any) string {
	const most = 60
	raw, err := encode(v)
	if err != nil {
		return kindOf(v)
	}
	if text := []rune(string(raw)); len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(raw)
}
