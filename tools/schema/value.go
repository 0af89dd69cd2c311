package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
)

const (
	maxValueDepth = 10_000 // of nesting in a value
	maxDigits     = 1024
	maxExponent   = 400 // above that of any 64-bit float
)

// vetNumber bounds a number, because comparing them is exact: 1e1000000 would
// take a megabyte.
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

func ratOf(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return new(big.Rat) // never: the text was decoded as a number
	}
	return r
}

// keyOf is the same text for values that are equal as JSON, and for no others.
func keyOf(v any) string { return string(appendKey(nil, v)) }

func appendKey(b []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		return append(b, ratOf(v).RatString()...)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendKey(b, item), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = append(value.AppendString(b, key), ':')
			b = append(appendKey(b, v[key]), ',')
		}
		return append(b, '}')
	}
	return value.Append(b, v)
}

func listValues(values []any) string {
	const most = 12
	var parts []string
	for i, v := range values {
		if i == most {
			parts = append(parts, fmt.Sprintf("… (%d in all)", len(values)))
			break
		}
		parts = append(parts, value.Show(v))
	}
	return strings.Join(parts, ", ")
}
