package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep [Decode] lets a value nest where a caller has no bound of
// its own: an array in an array nests 2 deep.
const MaxDepth = 128

// ErrTooDeep is in the error of a value that nests too deep.
var ErrTooDeep = errors.New("nested too deep")

// Decode reads the one JSON value of data, which may nest depth deep. Duplicate
// keys, invalid UTF-8, halves of surrogate pairs and data after the value are
// errors that name the place.
func Decode(data []byte, depth int) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the JSON is not valid UTF-8: send it as UTF-8")
	}
	if !json.Valid(data) {
		return nil, syntaxError(data)
	}
	d := decoder{text: data}
	return d.value(depth)
}

// syntaxError says why data is no JSON.
func syntaxError(data []byte) error {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	if err == nil || strings.Contains(err.Error(), "max depth") {
		return fmt.Errorf("%w: write its parts apart", ErrTooDeep)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("malformed JSON at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// Object is [Decode] of a text that must hold an object.
func Object(data []byte, depth int) (map[string]any, error) {
	v, err := Decode(data, depth)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the JSON is %s: send an object", A(v))
	}
	return m, nil
}

// decoder reads text, which is valid JSON, from byte at on.
type decoder struct {
	text []byte
	at   int
}

func (d *decoder) value(depth int) (any, error) {
	switch c := d.next(); c {
	case '{', '[':
		if depth <= 0 {
			return nil, fmt.Errorf("%w: write its parts apart", ErrTooDeep)
		}
		d.at++
		if c == '[' {
			return d.array(depth - 1)
		}
		return d.object(depth - 1)
	case '"':
		text, err := d.str()
		if err != nil {
			return nil, err
		}
		return text, nil
	case 'n':
		d.at += len("null")
		return nil, nil
	case 't', 'f':
		d.at += len(strconv.FormatBool(c == 't'))
		return c == 't', nil
	}
	from := d.at
	for d.at < len(d.text) && strings.IndexByte("0123456789-+.eE", d.text[d.at]) >= 0 {
		d.at++
	}
	return json.Number(d.text[from:d.at]), nil
}

func (d *decoder) array(depth int) (any, error) {
	list := []any{}
	for d.next() != ']' {
		v, err := d.value(depth)
		if err != nil {
			return nil, Within(fmt.Sprintf("[%d]", len(list)), err)
		}
		list = append(list, v)
		d.comma()
	}
	d.at++
	return list, nil
}

func (d *decoder) object(depth int) (any, error) {
	m := map[string]any{}
	for d.next() != '}' {
		key, err := d.str()
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; twice {
			return nil, fmt.Errorf("key %s stands twice: write it once", Quote(key))
		}
		d.next()
		d.at++ // the colon
		if m[key], err = d.value(depth); err != nil {
			return nil, Within(Place(key), err)
		}
		d.comma()
	}
	d.at++
	return m, nil
}

// str takes a text in quotes.
func (d *decoder) str() (string, error) {
	from, plain := d.at, true
	for d.at++; d.text[d.at] != '"'; d.at++ {
		if d.text[d.at] == '\\' {
			plain = false
			d.at++
		}
	}
	d.at++
	raw := d.text[from:d.at]
	if plain {
		return string(raw[1 : len(raw)-1]), nil
	}
	if hasHalf(raw) {
		return "", errors.New(`half of a surrogate pair: write the character itself, or both halves as \uXXXX\uXXXX`)
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}

// hasHalf reports whether one half of a surrogate pair stands alone among the escapes of a text.
func hasHalf(raw []byte) bool {
	high := rune(0) // the half that the escape before was
	for i := 0; i < len(raw); i++ {
		r := rune(0)
		if raw[i] == '\\' {
			if i++; raw[i] == 'u' {
				n, _ := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16) // valid JSON
				r, i = rune(n), i+4
			}
		}
		switch {
		case high != 0 && utf16.DecodeRune(high, r) == utf8.RuneError:
			return true
		case high != 0:
			high = 0
		case utf16.IsSurrogate(r):
			high = r
		}
	}
	return false
}

// next skips white space and returns the byte that follows.
func (d *decoder) next() byte {
	for strings.IndexByte(" \t\n\r", d.text[d.at]) >= 0 {
		d.at++
	}
	return d.text[d.at]
}

// comma skips a comma where one is next.
func (d *decoder) comma() {
	if d.next() == ',' {
		d.at++
	}
}

// Within says that err is about a part of a value.
func Within(at string, err error) error {
	if e, ok := err.(*placeError); ok { //nolint:errorlint // the place of a wrapped one is within something else
		at, err = at+e.at, e.err
	}
	return &placeError{Cut(at, maxPlace), err}
}

// placeError is an error about a part of a value.
type placeError struct {
	at  string // e.g. "[1].name" or ".name"
	err error
}

// Error returns the place and what is wrong there.
func (e *placeError) Error() string { return strings.TrimPrefix(e.at, ".") + ": " + e.err.Error() }

// Unwrap returns what is wrong.
func (e *placeError) Unwrap() error { return e.err }

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
