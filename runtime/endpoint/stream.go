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
	x       *Exchange
	lines   *bufio.Scanner
	mistake bool   // the event is an error, by its name
	strange string // the first line that is none of a stream's
}

func (x *Exchange) events(in io.Reader) *events {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 32<<10), maxLine)
	return &events{x: x, lines: lines}
}

// fields are the lines of a stream, by what stands before the colon; nothing
// begins a comment.
var fields = []string{"", "data", "event", "id", "retry"}

// next returns the next value, or whatever else stands for one; it holds until
// the next call. After the last comes io.EOF, and within one an [ErrCut].
func (e *events) next() ([]byte, error) {
	var part []byte
	parts := 0
	for e.lines.Scan() {
		line := bytes.TrimRight(e.lines.Bytes(), " \t\r")
		name, data, isField := bytes.Cut(line, []byte(":"))
		data = bytes.TrimSpace(data)
		switch {
		case len(line) == 0 && part != nil:
			return part, nil
		case len(line) == 0:
			e.mistake = false
			continue
		case line[0] == '{': // an error that its server did not dress as an event
			data = line
		case string(name) == "event":
			e.mistake = string(data) == "error"
			continue
		case string(name) != "data" || len(data) == 0:
			if e.strange == "" && (!isField || !slices.Contains(fields, string(name))) {
				e.strange = string(line) // all of it: half a key would not be found
			}
			continue
		}
		if part != nil {
			data = slices.Concat(part, []byte("\n"), data)
		}
		if parts == maxParts || len(data) > maxLine || !half(data) {
			return data, nil
		}
		part, parts = bytes.Clone(data), parts+1
	}
	switch err := e.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, e.x.Format("a line of its stream is longer than %d bytes", maxLine)
	case err != nil:
		return nil, cutError(err)
	case part != nil:
		return nil, Cut(io.ErrUnexpectedEOF)
	}
	return nil, io.EOF
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
