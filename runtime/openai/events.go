package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"usher/runtime/endpoint"
)

const maxLine = 8 << 20 // bytes of one line of a stream

// events reads the data lines of a stream of server-sent events.
type events struct {
	in   *bufio.Reader
	long []byte
	read int

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
			return nil, nil
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data = bytes.TrimSpace(data); len(data) > 0 {
				return data, nil
			}
		}
		if line[0] == '{' { // an error that its server did not dress as an event
			return line, nil
		}
		if name, _, field := bytes.Cut(line, []byte(":")); e.strange == "" && (!field || !slices.Contains(fields, string(name))) {
			e.strange = string(line[:min(len(line), 2*endpoint.MaxMessage)])
		}
	}
}

// line returns the next line without white space at its end. The last one may
// lack its line break.
func (e *events) line() ([]byte, error) {
	line, err := e.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		e.long = append(e.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) && len(e.long) <= maxLine {
			line, err = e.in.ReadSlice('\n')
			e.long = append(e.long, line...)
		}
		if len(e.long) > maxLine {
			return nil, fmt.Errorf("%w: a line of its stream is longer than %d bytes", ErrFormat, maxLine)
		}
		line = e.long
	}
	if e.read += len(line); e.read > maxAnswer {
		return nil, fmt.Errorf("%w: its answer is longer than %d bytes", ErrFormat, maxAnswer)
	}
	if err == nil || errors.Is(err, io.EOF) && len(line) > 0 {
		return bytes.TrimRight(line, " \t\r\n"), nil
	}
	return nil, err
}
