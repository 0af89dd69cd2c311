package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"

	"usher/runtime/endpoint"
)

const maxLine = 8 << 20 // bytes of one line of a stream

// events reads the data lines of a stream of server-sent events.
type events struct {
	in   endpoint.Lines
	read int

	mistake bool   // the event is an error, by its name
	strange string // the first line that is none of a stream's
}

// fields are the lines of a stream, by what stands before the colon; nothing
// begins a comment.
var fields = []string{"", "data", "event", "id", "retry"}

// next returns the data of the next line that has some, and nil at an empty
// line, which ends an event. Comments, which keep connections alive, and other
// fields are passed over. The data holds until the next call. After the last
// line comes io.EOF.
func (e *events) next() ([]byte, error) {
	for {
		line, err := e.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			e.mistake = false
			return nil, nil
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data = bytes.TrimSpace(data); len(data) > 0 {
				return data, nil
			}
		}
		if event, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			e.mistake = string(bytes.TrimSpace(event)) == "error"
		}
		if line[0] == '{' { // an error that its server did not dress as an event
			return line, nil
		}
		if name, _, field := bytes.Cut(line, []byte(":")); e.strange == "" && (!field || !slices.Contains(fields, string(name))) {
			e.strange = string(line) // all of it: half a key would not be found
		}
	}
}

// line returns the next line without white space at its end.
func (e *events) line() ([]byte, error) {
	line, err := e.in.Next()
	if errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%w: a line of its stream is longer than %d bytes", ErrFormat, maxLine)
	}
	if err != nil {
		return nil, err
	}
	if e.read += len(line) + 1; e.read > maxAnswer {
		return nil, fmt.Errorf("%w: its answer is longer than %d bytes", ErrFormat, maxAnswer)
	}
	return bytes.TrimRight(line, " \t"), nil
}
