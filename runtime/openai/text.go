package openai

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"usher/caps/value"
)

// piece is the inside of a JSON string of an answer, as it came: where a server
// cut a character in two, between its bytes or between two escapes of UTF-16, it
// holds the half, which encoding/json would replace.
type piece string

// UnmarshalJSON reads a string, null, or a list of parts of which the texts count.
func (p *piece) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '"':
		*p = piece(raw[1 : len(raw)-1])
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
		*p = ""
		for _, part := range parts {
			*p += part.Text
		}
	default:
		return errors.New("a text is neither a string nor a list of parts")
	}
	return nil
}

// text is what the piece says, with marks for half characters.
func (p piece) text() string {
	if s := string(p); strings.IndexByte(s, '\\') < 0 && utf8.ValidString(s) {
		return s
	}
	var s string
	_ = json.Unmarshal([]byte(`"`+p+`"`), &s) // the decoder checked its form
	return s
}

// arguments are a call's arguments: a string that holds JSON, or, from some
// servers, the JSON itself.
type arguments piece

// UnmarshalJSON reads either.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	if raw[0] == '{' {
		raw = value.AppendString(nil, string(raw))
	}
	return (*piece)(a).UnmarshalJSON(raw)
}

// joiner makes characters of the pieces of one text whole.
type joiner struct{ half piece }

// add returns what is whole with p, and keeps the beginning of a character
// at its end.
func (j *joiner) add(p piece) string {
	if j.half != "" {
		p = j.half + p
	}
	whole := len(p) - halfAtEnd(string(p))
	j.half = p[whole:]
	return p[:whole].text()
}

// rest returns the mark for a character that never became whole, if there is one.
func (j *joiner) rest() string {
	if j.half == "" {
		return ""
	}
	j.half = ""
	return string(utf8.RuneError)
}

// halfAtEnd is how many bytes at the end of the inside of a JSON string begin a
// character that goes on in the next piece.
func halfAtEnd(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if at := s[len(s)-n:]; utf8.RuneStart(at[0]) {
			if !utf8.FullRuneInString(at) {
				return n
			}
			break
		}
	}
	const escape = len(`\ud83d`)
	if len(s) < escape || s[len(s)-escape] != '\\' || s[len(s)-escape+1] != 'u' {
		return 0
	}
	before := s[:len(s)-escape]
	if (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1 {
		return 0 // the backslash is escaped itself
	}
	if unit, err := strconv.ParseUint(s[len(s)-4:], 16, 16); err != nil || unit < 0xD800 || unit > 0xDBFF {
		return 0
	}
	return escape
}
