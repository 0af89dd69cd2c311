package endpoint

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lines reads the lines of a stream of server-sent events, which end in LF, CR
// or both.
type lines struct {
	In   *bufio.Reader
	Most int // bytes of a line

	long []byte
	cr   bool // the line before ended in CR: an LF after it is of the same end
}

// Next returns the next line without its end; it holds until the next call. The
// last line may lack its end. After it comes io.EOF, and for a line that is too
// long [bufio.ErrTooLong].
func (l *lines) Next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		if _, err := l.In.Peek(1); err != nil {
			if errors.Is(err, io.EOF) && len(l.long) > 0 {
				return l.long, nil
			}
			return nil, err
		}
		come, _ := l.In.Peek(l.In.Buffered()) // no more than is there, so that it neither waits nor fails
		if l.cr && come[0] == '\n' {
			l.cr = false
			_, _ = l.In.Discard(1)
			continue
		}
		l.cr = false
		end := bytes.IndexAny(come, "\r\n")
		line := come
		if end >= 0 {
			line = come[:end]
		}
		if len(l.long)+len(line) > l.Most {
			return nil, bufio.ErrTooLong
		}
		if end < 0 {
			l.long = append(l.long, line...)
			_, _ = l.In.Discard(len(line))
			continue
		}
		l.cr = come[end] == '\r'
		_, _ = l.In.Discard(end + 1) // what was peeked at stays until the next read
		if len(l.long) > 0 {
			l.long = append(l.long, line...)
			line = l.long
		}
		return line, nil
	}
}
