package endpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	maxLine  = 8 << 20 // bytes of one line of a stream
	maxParts = 64      // lines of one value; each is tried with those before it
)

// Events reads the data of a stream of server-sent events, a JSON value at a
// time. Servers differ: one leaves out the empty lines between events, another
// writes a value over several lines of data, another an error that is no event.
type Events struct {
	Mistake bool   // the event is an error, by its name
	Strange string // the first line that is none of a stream's

	lines  lines
	format error // what a stream that is none is
	read   int
}

// NewEvents reads from in. format is the error of a server that does not speak
// the format of the provider.
func NewEvents(in *bufio.Reader, format error) *Events {
	return &Events{lines: lines{In: in, Most: maxLine}, format: format}
}

// Next returns the next value, or whatever else stands for one; it holds until
// the next call. After the last comes io.EOF, and within one
// [io.ErrUnexpectedEOF].
func (e *Events) Next() ([]byte, error) {
	var part []byte
	for parts := 0; ; {
		data, err := e.data()
		switch {
		case errors.Is(err, io.EOF) && len(part) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case data == nil && len(part) > 0:
			return part, nil
		case data == nil:
			continue
		case len(part) > 0:
			data = slices.Concat(part, []byte("\n"), data)
		}
		if parts == maxParts || len(data) > maxLine || !Half(data) {
			return data, nil
		}
		part = bytes.Clone(data)
		parts++
	}
}

// Half reports whether data is the beginning of a JSON value.
func Half(data []byte) bool {
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
func (e *Events) data() ([]byte, error) {
	for {
		line, err := e.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			e.Mistake = false
			return nil, nil
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data = bytes.TrimSpace(data); len(data) > 0 {
				return data, nil
			}
		}
		if event, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			e.Mistake = string(bytes.TrimSpace(event)) == "error"
		}
		if line[0] == '{' { // an error that its server did not dress as an event
			return line, nil
		}
		if name, _, field := bytes.Cut(line, []byte(":")); e.Strange == "" && (!field || !slices.Contains(fields, string(name))) {
			e.Strange = string(line) // all of it: half a key would not be found
		}
	}
}

// line returns the next line without white space at its end.
func (e *Events) line() ([]byte, error) {
	line, err := e.lines.Next()
	if errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%w: a line of its stream is longer than %d bytes", e.format, maxLine)
	}
	if err != nil {
		return nil, err
	}
	if e.read += len(line) + 1; e.read > MaxAnswer {
		return nil, tooLong(e.format)
	}
	return bytes.TrimRight(line, " \t"), nil
}

// tooLong is the error of an answer beyond [MaxAnswer].
func tooLong(format error) error {
	return fmt.Errorf("%w: its answer is longer than %d bytes", format, MaxAnswer)
}

// Whole reads an answer that is one value.
func (s *Server) Whole(in io.Reader, format error) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(in, MaxAnswer+1))
	if err != nil {
		return nil, s.Broken(err)
	}
	if len(body) > MaxAnswer {
		return nil, tooLong(format)
	}
	return body, nil
}
