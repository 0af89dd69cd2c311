package mcp

import (
	"errors"
	"io"
	"mime"
	"net/http"
)

// maxValues bounds the memory that the values of one message take beside its text, by
// estimate: bytes. A message of many small ones takes a hundred times its length.
const maxValues = 128 << 20

var errValues = errors.New("a message of the server has too many values: they would take more than 128 MiB of memory")

// sparse reads messages as long as none has too many values. What is no JSON has none: whoever
// reads it comes to its end there.
type sparse struct {
	io.Reader
	events bool // the messages are the data of server-sent events

	weight, depth   int
	over            bool
	quoted, escaped bool
	fresh           bool // the object that was begun last has no field yet

	field [5]byte // the beginning of a line of events
	line  int     // its bytes so far, without the returns
}

// sparseAnswer is the body of an answer of HTTP.
func sparseAnswer(res *http.Response) io.Reader {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return &sparse{Reader: slowDown(res.Body), events: kind == "text/event-stream"}
}

func (s *sparse) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	for _, c := range p[:n] {
		if s.events {
			s.event(c)
		} else {
			s.value(c)
		}
	}
	if s.over {
		return 0, errValues
	}
	return n, err
}

// event takes a byte of a stream of events: those of lines of data are the message, and an
// empty line is its end.
func (s *sparse) event(c byte) {
	switch {
	case c == '\n' && s.line == 0:
		*s = sparse{Reader: s.Reader, events: true, over: s.over}
	case c == '\n':
		s.line = 0
	case c == '\r':
	case s.line < len(s.field):
		s.field[s.line] = c
		s.line++
	default:
		if s.line++; string(s.field[:]) == "data:" {
			s.value(c)
		}
	}
}

// What values take, as [value.Weight] estimates it, with a text or a number after each comma
// and colon.
const (
	ofBracket = 48
	ofEntry   = 56
	ofObject  = 336 // that has a field
)

// value takes a byte of JSON.
func (s *sparse) value(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
		return
	case s.quoted:
		s.escaped, s.quoted = c == '\\', c != '"'
		return
	}
	switch c {
	case '"':
		s.quoted = true
	case '{', '[':
		if s.depth == 0 { // the next message
			s.weight = 0
		}
		s.depth++
		s.weight += ofBracket
		s.fresh = c == '{'
	case '}', ']':
		s.depth--
	case ',':
		s.weight += ofEntry
	case ':':
		if s.weight += ofEntry; s.fresh {
			s.weight, s.fresh = s.weight+ofObject, false
		}
	}
	s.over = s.over || s.weight > maxValues
}
