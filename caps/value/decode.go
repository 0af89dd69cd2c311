package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxDepth is how deep [Decode] lets a value nest where a caller has no bound of
// its own: an array in an array nests 2 deep.
const MaxDepth = 128

// ErrTooDeep is in the error of a value that nests too deep.
var ErrTooDeep = errors.New("nested too deep")

// Error says what is wrong with a JSON text, and where.
type Error struct {
	At  string // the place in the value, e.g. "[1].name" or ".name"; "" for the value itself
	Err error
}

// Error returns the place and what is wrong there.
func (e *Error) Error() string {
	if e.At == "" {
		return e.Err.Error()
	}
	return strings.TrimPrefix(e.At, ".") + ": " + e.Err.Error()
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Decode reads the one JSON value of data, which may nest depth deep. Duplicate
// keys, invalid UTF-8, halves of surrogate pairs and data after the value are
// errors; each is an [*Error].
func Decode(data []byte, depth int) (any, error) {
	if !utf8.Valid(data) {
		return nil, &Error{Err: errors.New("the JSON is not valid UTF-8: send it as UTF-8")}
	}
	d := decoder{text: data}
	v, err := d.value(depth)
	if err != nil {
		return nil, err
	}
	if d.space(); d.at < len(d.text) {
		return nil, &Error{Err: errors.New("more follows after the JSON value: send one value")}
	}
	return v, nil
}

// Object is [Decode] of a text that must hold an object.
func Object(data []byte, depth int) (map[string]any, error) {
	v, err := Decode(data, depth)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &Error{Err: fmt.Errorf("the JSON is %s: send an object", A(v))}
	}
	return m, nil
}

// decoder reads text, which is valid UTF-8, from byte at on.
type decoder struct {
	text []byte
	at   int
}

func (d *decoder) value(depth int) (any, error) {
	d.space()
	switch c := d.peek(); {
	case c == '{' || c == '[':
		if depth <= 0 {
			return nil, &Error{Err: fmt.Errorf("%w: write its parts apart", ErrTooDeep)}
		}
		d.at++
		if c == '[' {
			return d.array(depth - 1)
		}
		return d.object(depth - 1)
	case c == '"':
		return d.str()
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	}
	for _, word := range [...]struct {
		text  string
		value any
	}{{"null", nil}, {"true", true}, {"false", false}} {
		if bytes.HasPrefix(d.text[d.at:], []byte(word.text)) {
			d.at += len(word.text)
			return word.value, nil
		}
	}
	return nil, d.unexpected("a value")
}

func (d *decoder) array(depth int) (any, error) {
	list := []any{}
	for d.space(); ; d.at++ {
		if len(list) == 0 && d.take(']') {
			return list, nil
		}
		v, err := d.value(depth)
		if err != nil {
			return nil, Within(fmt.Sprintf("[%d]", len(list)), err)
		}
		list = append(list, v)
		if d.space(); d.take(']') {
			return list, nil
		}
		if d.peek() != ',' {
			return nil, d.unexpected(`"," or "]"`)
		}
	}
}

func (d *decoder) object(depth int) (any, error) {
	m := map[string]any{}
	for ; ; d.at++ {
		if d.space(); len(m) == 0 && d.take('}') {
			return m, nil
		}
		if d.peek() != '"' {
			return nil, d.unexpected("a key in quotes")
		}
		key, err := d.str()
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; twice {
			return nil, &Error{Err: fmt.Errorf("key %s stands twice: write it once", Quote(key))}
		}
		if d.space(); !d.take(':') {
			return nil, d.unexpected(`":"`)
		}
		v, err := d.value(depth)
		if err != nil {
			return nil, Within(Place(key), err)
		}
		m[key] = v
		if d.space(); d.take('}') {
			return m, nil
		}
		if d.peek() != ',' {
			return nil, d.unexpected(`"," or "}"`)
		}
	}
}

// number takes the longest text of a JSON number (RFC 8259, "Numbers").
func (d *decoder) number() (any, error) {
	from := d.at
	d.take('-')
	if !d.take('0') && !d.digits() {
		return nil, d.unexpected("a digit")
	}
	if d.take('.') && !d.digits() {
		return nil, d.unexpected("a digit")
	}
	if d.take('e') || d.take('E') {
		if !d.take('+') {
			d.take('-')
		}
		if !d.digits() {
			return nil, d.unexpected("a digit")
		}
	}
	return json.Number(d.text[from:d.at]), nil
}

// digits skips digits and reports whether there were any.
func (d *decoder) digits() bool {
	from := d.at
	for c := d.peek(); c >= '0' && c <= '9'; c = d.peek() {
		d.at++
	}
	return d.at > from
}

func (d *decoder) space() {
	for d.at < len(d.text) {
		switch d.text[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end: no token begins with that.
func (d *decoder) peek() byte {
	if d.at < len(d.text) {
		return d.text[d.at]
	}
	return 0
}

// take skips the byte c if it is next.
func (d *decoder) take(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.at++
	return true
}

func (d *decoder) unexpected(want string) error {
	if d.at == len(d.text) {
		return &Error{Err: fmt.Errorf("malformed JSON: it ends where %s should stand", want)}
	}
	r, _ := utf8.DecodeRune(d.text[d.at:])
	return &Error{Err: fmt.Errorf("malformed JSON: %q at byte %d, where %s should stand", r, d.at, want)}
}

// Within says that err is about a part of a value.
func Within(at string, err error) error {
	e, ok := err.(*Error) //nolint:errorlint // the place of a wrapped one is within something else
	if !ok {
		return &Error{at, err}
	}
	return &Error{Cut(at+e.At, maxPlace), e.Err}
}

// Place names a key within an object: .key, or ["key"] where it cannot be read as
// it is.
func Place(key string) string {
	if key == "" {
		return `[""]`
	}
	for _, r := range key {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' {
			return "[" + strconv.Quote(key) + "]"
		}
	}
	return "." + key
}

// maxPlace bounds the place that an error names, in bytes.
const maxPlace = 256
