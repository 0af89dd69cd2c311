package endpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

const (
	maxLine  = 8 << 20 // bytes of one line of a stream
	maxParts = 64      // lines of one value; each is tried with those before it
)

// events reads the data of a stream of server-sent events, a JSON value at a
// time. Servers differ: one leaves out the empty lines between events, another
// writes a value over several lines of data, another an error that is no event.
type events struct {
	server  *Server
	lines   *bufio.Scanner
	mistake bool   // the event is an error, by its name
	strange string // the first line that is none of a stream's
}

func (s *Server) events(in io.Reader) *events {
	return &events{server: s, lines: linesOf(in, maxLine)}
}

// next returns the next value, or whatever else stands for one; it holds until
// the next call. After the last comes io.EOF, and within one an [ErrCut].
func (e *events) next() ([]byte, error) {
	var part []byte
	for parts := 0; ; {
		data, err := e.data()
		switch {
		case errors.Is(err, io.EOF) && len(part) > 0:
			return nil, Cut(io.ErrUnexpectedEOF)
		case err != nil:
			return nil, err
		case data == nil && len(part) > 0:
			return part, nil
		case data == nil:
			continue
		case len(part) > 0:
			data = slices.Concat(part, []byte("\n"), data)
		}
		if parts == maxParts || len(data) > maxLine || !half(data) {
			return data, nil
		}
		part = bytes.Clone(data)
		parts++
	}
}

// half reports whether data is the beginning of a JSON value.
func half(data []byte) bool {
	if json.Valid(data) {
		return false
	}
	var v json.RawMessage
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &v))
	return ok && syntax.Offset >= int64(len(data))
}

// fields are the lines of a stream, by what stands before the colon; nothing
// begins a comment.
var fields = []string{"", "data", "event", "id", "retry"}

// data returns the data of the next line that has some, and nil at an empty
// line, which ends an event. Comments, which keep connections alive, and other
// fields are passed over.
func (e *events) data() ([]byte, error) {
	for e.lines.Scan() {
		line := bytes.TrimRight(e.lines.Bytes(), " \t")
		if len(line) == 0 {
			e.mistake = false
			return nil, nil
		}
		name, value, isField := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case line[0] == '{': // an error that its server did not dress as an event
			return line, nil
		case string(name) == "data" && len(value) > 0:
			return value, nil
		case string(name) == "event":
			e.mistake = string(value) == "error"
		case e.strange == "" && (!isField || !slices.Contains(fields, string(name))):
			e.strange = string(line) // all of it: half a key would not be found
		}
	}
	switch err := e.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, e.server.Format("a line of its stream is longer than %d bytes", maxLine)
	case err != nil:
		return nil, broken(err)
	}
	return nil, io.EOF
}

// linesOf reads lines of at most so many bytes, which end in LF, CR or both. One
// that ends in CR is there before anything follows it.
func linesOf(in io.Reader, most int) *bufio.Scanner {
	lines, cr := bufio.NewScanner(in), false
	lines.Buffer(make([]byte, 0, min(32<<10, most)), most+2)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		skip := 0
		if cr && len(data) > 0 && data[0] == '\n' { // of the same end
			skip = 1
		}
		end := bytes.IndexAny(data[skip:], "\r\n")
		switch {
		case len(data) == 0:
			return 0, nil, nil
		case end >= 0 && end <= most:
			end += skip
			cr = data[end] == '\r'
			return end + 1, data[skip:end], nil
		case end > most, len(data)-skip > most:
			return 0, nil, bufio.ErrTooLong
		case atEOF && len(data) > skip:
			return len(data), data[skip:], nil
		}
		if skip > 0 {
			cr = false
		}
		return skip, nil, nil
	})
	return lines
}
