package value

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str takes a text in quotes.
func (d *decoder) str() (string, error) {
	d.at++
	from := d.at
	for d.at < len(d.text) {
		switch c := d.text[d.at]; {
		case c == '"':
			d.at++
			return string(d.text[from : d.at-1]), nil
		case c == '\\':
			return d.escaped(d.text[from:d.at])
		case c < ' ':
			return "", d.unexpected("a quote, or an escape,")
		}
		d.at++
	}
	return "", d.unexpected("a quote")
}

// escaped takes the rest of a text in quotes, from its first backslash on.
func (d *decoder) escaped(begun []byte) (string, error) {
	var b strings.Builder
	b.Write(begun)
	for d.at < len(d.text) {
		c := d.text[d.at]
		switch {
		case c == '"':
			d.at++
			return b.String(), nil
		case c < ' ':
			return "", d.unexpected("a quote, or an escape,")
		case c != '\\':
			b.WriteByte(c)
			d.at++
			continue
		}
		d.at++
		if i := strings.IndexByte(`"\/bfnrt`, d.peek()); i >= 0 {
			b.WriteByte("\"\\/\b\f\n\r\t"[i])
			d.at++
			continue
		}
		r, err := d.unicode()
		if err != nil {
			return "", err
		}
		b.WriteRune(r)
	}
	return "", d.unexpected("a quote")
}

// unicode takes what follows the backslash of \uXXXX, and all of a second such
// escape where the first is one half of a pair.
func (d *decoder) unicode() (rune, error) {
	r, err := d.hex()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if d.take('\\') {
		low, err := d.hex()
		if err != nil {
			return 0, err
		}
		if r := utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, &Error{Err: errors.New(`malformed JSON: half of a surrogate pair: write the character itself, or both halves as \uXXXX\uXXXX`)}
}

func (d *decoder) hex() (rune, error) {
	if !d.take('u') {
		return 0, d.unexpected("an escape that JSON has")
	}
	if len(d.text)-d.at >= 4 {
		if n, err := strconv.ParseUint(string(d.text[d.at:d.at+4]), 16, 16); err == nil {
			d.at += 4
			return rune(n), nil
		}
	}
	return 0, &Error{Err: fmt.Errorf("malformed JSON: four hexadecimal digits are missing at byte %d", d.at)}
}

// Cut returns text, or the beginning of it with an ellipsis where it is longer
// than most bytes, in whole characters.
func Cut(text string, most int) string {
	const ellipsis = "…"
	if len(text) <= most {
		return text
	}
	end := max(0, most-len(ellipsis))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// Quote writes a text into a message: in quotes, with escapes instead of what
// moves a cursor, and cut where it is long.
func Quote(text string) string {
	const most = 96
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return strconv.Quote(strings.TrimSuffix(Cut(text, most), "…")) + "…"
}

// Show writes a Go value into a message: as JSON, cut where it is long.
func Show(v any) string {
	const most = 64
	raw, err := Encode(v)
	if err != nil {
		return A(v)
	}
	return Cut(string(raw), most)
}
