package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// piece is a string of an answer as it came: where a server cut a character
// in two, it holds the half, which encoding/json would replace. Halves of
// UTF-16 pairs are held as three bytes, as if they were characters.
type piece string

// UnmarshalJSON reads a string, null, or a list of parts of which the texts count.
func (p *piece) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '"':
		*p = piece(unquote(raw[1 : len(raw)-1]))
	case 'n':
		*p = ""
	case '[':
		var parts []struct {
			Type string `json:"type"`
			Text piece  `json:"text"`
		}
		if err := json.Unmarshal(raw, &parts); err != nil {
			return err
		}
		var b strings.Builder
		for _, part := range parts {
			b.WriteString(string(part.Text))
		}
		*p = piece(b.String())
	default:
		return errors.New("a text is neither a string nor a list of parts")
	}
	return nil
}

// arguments are a call's arguments: a string that holds JSON, or, from some
// servers, the JSON itself.
type arguments piece

// UnmarshalJSON reads either.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	if raw[0] == '{' {
		*a = arguments(raw)
		return nil
	}
	return (*piece)(a).UnmarshalJSON(raw)
}

// unquote reads the inside of a JSON string, whose form the decoder checked.
func unquote(in []byte) string {
	i := bytes.IndexByte(in, '\\')
	if i < 0 {
		return string(in)
	}
	var b strings.Builder
	b.Grow(len(in))
	for i >= 0 {
		b.Write(in[:i])
		c := in[i+1]
		in = in[i+2:]
		switch c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r := unit(in)
			in = in[4:]
			if len(in) >= 6 && in[0] == '\\' && in[1] == 'u' {
				if pair := utf16.DecodeRune(r, unit(in[2:])); pair != utf8.RuneError {
					r, in = pair, in[6:]
				}
			}
			if utf16.IsSurrogate(r) {
				b.Write([]byte{0xE0 | byte(r>>12), 0x80 | byte(r>>6)&0x3F, 0x80 | byte(r)&0x3F})
			} else {
				b.WriteRune(r)
			}
		default: // " \ /
			b.WriteByte(c)
		}
		i = bytes.IndexByte(in, '\\')
	}
	b.Write(in)
	return b.String()
}

// unit reads the four digits of \uXXXX.
func unit(in []byte) rune {
	n, err := strconv.ParseUint(string(in[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// joiner makes characters of the pieces of one text whole.
type joiner struct{ half string }

// add returns what is whole with p, and keeps the beginning of a character
// at its end.
func (j *joiner) add(p piece) string {
	if j.half == "" && utf8.ValidString(string(p)) {
		return string(p)
	}
	in := j.half + string(p)
	j.half = ""
	var b strings.Builder
	for in != "" {
		r, size := utf8.DecodeRuneInString(in)
		if r == utf8.RuneError && size == 1 {
			if r, size = surrogates(in); size == 0 {
				j.half = in
				break
			}
		}
		b.WriteRune(r)
		in = in[size:]
	}
	return b.String()
}

// rest returns the mark for a character that never became whole, if there is one.
func (j *joiner) rest() string {
	if j.half == "" {
		return ""
	}
	j.half = ""
	return string(utf8.RuneError)
}

// surrogates decodes the beginning of in, which is no UTF-8: a pair of halves
// gives its character, and size 0 means that more has to come.
func surrogates(in string) (r rune, size int) {
	high, ok := surrogate(in)
	if !ok {
		if !utf8.FullRuneInString(in) {
			return 0, 0
		}
		return utf8.RuneError, 1
	}
	if high >= 0xDC00 { // the second half without the first
		return utf8.RuneError, 3
	}
	rest := in[3:]
	if low, ok := surrogate(rest); ok {
		if pair := utf16.DecodeRune(high, low); pair != utf8.RuneError {
			return pair, 6
		}
		return utf8.RuneError, 3
	}
	if rest == "" {
		return 0, 0
	}
	return utf8.RuneError, 3
}

func surrogate(in string) (rune, bool) {
	if len(in) < 3 || in[0] != 0xED || in[1] < 0xA0 || in[1] > 0xBF || in[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | rune(in[1]&0x3F)<<6 | rune(in[2]&0x3F), true
}
