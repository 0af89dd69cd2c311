package openai

import "encoding/json"

// object is text that is to become a JSON object. Whether it is one is asked at
// every piece, and to parse all of it each time would take the square of its
// length: so each byte is looked at once, and parsed once.
type object struct {
	text []byte

	seen, depth     int
	quoted, escaped bool
	closed, valid   bool
}

// complete says whether the text is one JSON object.
func (o *object) complete() bool {
	for ; o.seen < len(o.text); o.seen++ {
		c := o.text[o.seen]
		if o.closed {
			o.valid = o.valid && (c == ' ' || c == '\n' || c == '\r' || c == '\t')
			continue
		}
		switch {
		case o.escaped:
			o.escaped = false
		case o.quoted:
			o.escaped, o.quoted = c == '\\', c != '"'
		case c == '"':
			o.quoted = true
		case c == '{', c == '[':
			o.depth++
		case c == '}', c == ']':
			if o.depth--; o.depth <= 0 {
				o.closed, o.valid = true, c == '}' && json.Valid(o.text[:o.seen+1])
			}
		}
	}
	return o.valid
}
