package value

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Kind returns the name that JSON has for the type of a value, e.g. "array".
// Numbers may be those of Go too, as YAML decoders give them; anything else is
// named by its Go type.
func Kind(v any) string {
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
	case json.Number, int, int64, uint64, float64:
		return "number"
	case []byte:
		return "binary data"
	}
	return fmt.Sprintf("%T", v)
}

// A is [Kind] with its article, for sentences: "an array", "null".
func A(v any) string {
	switch kind := Kind(v); kind {
	case "null", "binary data":
		return kind
	case "array", "object":
		return "an " + kind
	default:
		return "a " + kind
	}
}

// At returns what lies at path in v: the keys of objects, and the indexes of
// arrays in their one spelling.
func At(v any, path ...string) (any, bool) {
	for _, segment := range path {
		var ok bool
		if v, ok = child(v, segment); !ok {
			return nil, false
		}
	}
	return v, true
}

func child(v any, segment string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[segment]
		return next, ok
	case []any:
		if i, ok := Index(segment); ok && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// Index reads the index of an array in its one spelling: digits that do not
// begin with a 0 too many.
func Index(segment string) (int, bool) {
	i, err := strconv.Atoi(segment)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == segment
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~0", "~", "~1", "/")
)

// Pointer is a path of keys as a JSON pointer (RFC 6901).
func Pointer(path ...string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteByte('/')
		_, _ = escape.WriteString(&b, key)
	}
	return b.String()
}

// Keys is the path of a JSON pointer; none for that of the whole value.
func Keys(pointer string) []string {
	if pointer == "" {
		return nil
	}
	path := strings.Split(pointer[1:], "/")
	for i, key := range path {
		path[i] = unescape.Replace(key)
	}
	return path
}
