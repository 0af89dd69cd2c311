package anthropic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"usher/runtime/endpoint"
)

const maxLine = 32 << 20 // bytes of one line of a stream; the SDK takes no longer one

// events rewrites a stream of server-sent events as the SDK reads them: with
// line ends of LF, and each event under its name. Servers that copied the API
// leave the name to the data, and the SDK would pass over the event.
type events struct {
	io.Closer
	lines endpoint.Lines
	named bool // the event has a name, or its data none
	out   []byte
	rest  []byte // of out
}

func newEvents(body io.ReadCloser) *events {
	return &events{Closer: body, lines: endpoint.Lines{In: bufio.NewReaderSize(body, 32<<10), Most: maxLine}}
}

func (e *events) Read(to []byte) (int, error) {
	if len(e.rest) == 0 {
		line, err := e.lines.Next()
		if errors.Is(err, bufio.ErrTooLong) {
			return 0, errTooLong
		}
		if err != nil {
			return 0, err
		}
		e.out = append(e.rename(e.out[:0], line), '\n')
		e.rest = e.out
	}
	n := copy(to, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// rename appends the line, and the name of the event before it where it is due.
func (e *events) rename(out, line []byte) []byte {
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	switch {
	case len(line) == 0:
		e.named = false
	case bytes.HasPrefix(line, []byte("event:")):
		e.named = true
	case isData && !e.named:
		if name := typeOf(data); name != "" {
			out = append(append(append(out, "event: "...), name...), '\n')
		}
		e.named = true
	}
	return append(out, line...)
}

// typeOf is the type that an object names; "" where it names none that is a word.
func typeOf(object []byte) string {
	var in struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(object, &in) != nil || bytes.ContainsAny([]byte(in.Type), "\r\n") {
		return ""
	}
	return in.Type
}

// oneEvent makes a stream of an answer or an error that came whole although a
// stream was asked for; nil where body is neither.
func oneEvent(body []byte) io.ReadCloser {
	switch typeOf(body) {
	case "message", "error":
	default:
		return nil
	}
	line := bytes.NewBufferString("data: ")
	if err := json.Compact(line, body); err != nil {
		return nil
	}
	line.WriteString("\n\n")
	return newEvents(io.NopCloser(line))
}
