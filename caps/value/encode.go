package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Append writes a value to dst as compact JSON: its keys sorted, its numbers as
// they came, nothing escaped that need not be. The same value gives the same
// bytes. It panics on what is no value.
func Append(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return AppendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, key), ':')
			dst = Append(dst, v[key])
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("value: %T is no JSON value", v)) // a fault of the caller
}

// plain says of each byte whether it stands in a text in quotes as it is.
var plain = func() (is [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// AppendString writes a text to dst as encoding/json does without the escapes
// that only HTML needs.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		broken := r == utf8.RuneError && size == 1
		if c >= utf8.RuneSelf && !broken && r != '\u2028' && r != '\u2029' { // these two end lines of JavaScript
			i += size
			continue
		}
		dst = append(dst, s[done:i]...)
		i += size
		done = i
		switch at := bytes.IndexByte([]byte("\"\\\b\f\n\r\t"), c); {
		case broken:
			dst = append(dst, `\ufffd`...)
		case at >= 0:
			dst = append(dst, '\\', `"\bfnrt`[at])
		default:
			dst = append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
	}
	return append(append(dst, s[done:]...), '"')
}

// Encode writes any Go value as encoding/json does, without the escapes that
// only HTML needs: for models, programs and people.
func Encode(v any) (json.RawMessage, error) { return appendAny(nil, v) }

// encoder is one of encoding/json, to be used again.
type encoder struct {
	text bytes.Buffer
	*json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.Encoder = json.NewEncoder(&e.text)
	e.SetEscapeHTML(false)
	return e
}}

// maxKept bounds the text of an encoder that is kept for the next value.
const maxKept = 64 << 10

func appendAny(dst []byte, v any) ([]byte, error) {
	e := encoders.Get().(*encoder) //nolint:forcetypeassert // the pool has nothing else
	if err := e.Encode(v); err != nil {
		return nil, err // and the encoder with what it wrote of the value
	}
	dst = append(dst, bytes.TrimSuffix(e.text.Bytes(), []byte("\n"))...)
	if e.text.Reset(); e.text.Cap() <= maxKept {
		encoders.Put(e)
	}
	return dst, nil
}
